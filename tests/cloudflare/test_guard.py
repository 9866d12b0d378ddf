"""/agents/*: deny-all, unless the registry's function lets a request through."""

from typing import Any

import pytest

from app.cloudflare.guard import Guard, Target, authorizers
from app.runtime.registration import Registration

pytestmark = pytest.mark.anyio


class Response:
    pass


def guard(**authorizers: Any) -> Guard:
    return Guard(authorizers, lambda said: isinstance(said, Response))


@pytest.mark.parametrize("path", ["/", "/tickets", "/agent", "/agentsmith", "/ops/agents/triager", "/Agents/a/b"])
async def test_other_paths_are_not_its_own(path: str) -> None:
    assert await guard(triager=lambda *_: True).decide(path, None) == "not mine"


@pytest.mark.parametrize(
    "path",
    ["/agents", "/agents/", "/agents/triager", "/agents/triager/main", "/agents/eve/x", "/%61gents/triager/main"],
)
async def test_without_a_function_everything_is_refused_alike(path: str) -> None:
    assert await guard().decide(path, None) == "refused"


async def test_who_is_let_through_reaches_the_instance_that_was_named() -> None:
    asked = []

    async def allow(request: Any, target: Target) -> bool:
        asked.append((request, target))
        return True

    target = Target("triager", "a/b c")
    assert await guard(triager=allow).decide("/agents/triager/a%2Fb%20c/more", "request") == target
    assert asked == [("request", target)]


async def test_an_unknown_agent_is_refused_and_nobody_is_asked() -> None:
    def never(*_: Any) -> bool:
        raise AssertionError

    guarded = guard(triager=never)
    for path in ("/agents/eve/main", "/agents/triager", "/agents/triager/", "/agents//main", "/%61gents/triager/main"):
        assert await guarded.decide(path, None) == "refused"


@pytest.mark.parametrize("said", [False, None, 1, "true", Target("triager", "main"), "not mine"])
async def test_anything_but_true_refuses(said: Any) -> None:
    assert await guard(triager=lambda *_: said).decide("/agents/triager/main", None) == "refused"


async def test_a_response_of_the_function_is_given_as_it_is() -> None:
    response = Response()
    assert await guard(triager=lambda *_: response).decide("/agents/triager/main", None) is response


async def test_what_the_function_raises_is_raised() -> None:
    def fails(*_: Any) -> bool:
        raise LookupError("its own fault")

    with pytest.raises(LookupError):
        await guard(triager=fails).decide("/agents/triager/main", None)


def test_the_functions_are_those_of_the_registry() -> None:
    plain = Registration("triager", "app.agents.triager", "Triager", ())
    named = Registration("eve", "app.agents.eve", "Eve", (), authorize="app.cloudflare.guard:authorizers")
    assert authorizers({"triager": plain, "eve": named}) == {"eve": authorizers}


def test_a_function_that_is_not_there_keeps_the_worker_from_starting() -> None:
    named = Registration("eve", "app.agents.eve", "Eve", (), authorize="app.cloudflare.guard:allow")
    with pytest.raises(AttributeError):
        authorizers({"eve": named})
