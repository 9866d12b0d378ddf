"""Routes with one fault planted: exactly that fault is found, where the handler or the guard stands."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from litestar import Litestar, Request, Router
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency, Provide
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta, Struct
from sqlalchemy.orm import Session

from app.auth import signed_in
from app.check.finding import Finding
from app.check.routes import app_findings
from app.domain import OperationId
from app.runtime.tools.agent_route import get, post
from app.schemas import Input

Connection = ASGIConnection[Any, Any, Any, Any]
Text = Annotated[str, Meta(description="What to write on it.")]
Place = Annotated[str, QueryParameter(description="Where it is.")]


def a_plain_guard(_connection: Connection, _handler: BaseRouteHandler) -> None: ...


async def a_guard(_connection: Connection, _handler: BaseRouteHandler) -> None: ...


class Parcel(Input):
    note: Text


class Sent(Struct):
    note: str


def preview(_session: Session, note: str) -> Sent: ...


def a_tool(path: str = "/parcels", name: str | None = "parcels.send", **mark: Any) -> Any:
    return post(path, name=name, guards=[a_guard]).agent(description="Send it.", **mark)


def a_lookup(path: str = "/parcels", name: str | None = "parcels.find", **mark: Any) -> Any:
    return get(path, name=name, guards=[a_guard]).agent(**{"description": "Find it."} | mark)


def found(*handlers: Any, guards: tuple[Any, ...] = ()) -> list[Finding]:
    app = Litestar(
        handlers,
        guards=list(guards),
        dependencies={name: Provide(lambda: None, sync_to_thread=False) for name in ("db", "operation")},
        openapi_config=None,
        logging_config=None,
    )
    return list(app_findings(app))


def only(rule: str, level: str, findings: list[Finding], said: str, function: Callable[..., Any]) -> None:
    """Exactly this one finding, on the line where the function begins."""
    assert [(each.rule, each.level) for each in findings] == [(rule, level)]
    assert said in findings[0].message
    assert findings[0].where == f"tests/check/test_check_tools.py:{function.__code__.co_firstlineno}"


def test_a_tool_that_says_all_it_should_has_no_fault() -> None:
    @a_tool(approval="required", preview=preview)
    async def send(
        data: JSONBody[Parcel], operation: NamedDependency[OperationId | None], db: NamedDependency[Any]
    ) -> Sent: ...

    @a_lookup()
    async def find(place: Place) -> Sent: ...

    assert found(send, find) == []


@pytest.mark.parametrize("layers", [([a_guard, a_plain_guard], []), ([a_guard], [a_plain_guard])])
def test_a_guard_that_is_a_plain_def_is_found_on_every_layer(layers: tuple[list[Any], list[Any]]) -> None:
    @get("/", guards=layers[0])
    async def handler() -> None: ...

    only(
        "guard-plain", "error", found(handler, guards=tuple(layers[1])), "a_plain_guard is no coroutine", a_plain_guard
    )


@pytest.mark.parametrize("path", ["/agents/triager", "/agents/{name:str}/wake"])
def test_a_route_under_agents_is_found(path: str) -> None:
    async def handler(name: FromPath[str] = "") -> None: ...

    async def without() -> None: ...

    function = handler if "{" in path else without
    only("route-under-agents", "error", found(get(path)(function)), f"Move it to /ops{path}", function)


def test_a_router_does_not_hide_a_route_under_agents() -> None:
    async def handler() -> None: ...

    only(
        "route-under-agents",
        "error",
        found(Router("/agents", route_handlers=[get("/eve")(handler)])),
        "/ops/agents/eve",
        handler,
    )


def test_a_tool_on_a_route_without_a_name_is_found() -> None:
    async def find() -> Sent: ...

    only("tool-nameless", "error", found(a_lookup(name=None)(find)), "GET /parcels is marked .agent()", find)


@pytest.mark.parametrize("name", ["parcels find", "parcels.fïnd", "parcels/find", "p" * 65])
def test_a_tool_whose_name_a_model_provider_would_refuse_is_found(name: str) -> None:
    async def find() -> Sent: ...

    only("tool-name", "error", found(a_lookup(name=name)(find)), f'The tool "{name.replace(".", "_")}"', find)


@pytest.mark.parametrize("name", ["approval.status", "preflight"])
def test_a_tool_with_the_name_of_one_that_comes_with_every_surface_is_found(name: str) -> None:
    async def find() -> Sent: ...

    only("tool-reserved", "error", found(a_lookup(name=name)(find)), f"Rename its route {name}", find)


def test_two_routes_that_claim_one_name_are_found_once() -> None:
    async def one() -> Sent: ...

    async def other() -> Sent: ...

    findings = found(a_lookup("/a", "parcels.find_all")(one), a_lookup("/b", "parcels.find.all")(other))
    only("tool-twice", "error", findings, 'GET /a and GET /b claim the tool name "parcels_find_all"', other)


def test_a_tool_that_does_not_say_what_it_does_is_found() -> None:
    async def find() -> Sent: ...

    only("tool-description", "error", found(a_lookup(description=" ")(find)), "no description", find)


def test_an_argument_that_does_not_say_what_it_is_is_found() -> None:
    async def find(place: Annotated[str | None, QueryParameter(max_length=9)] = None) -> Sent: ...

    only("tool-field", "error", found(a_lookup()(find)), "takes `place`", find)


def test_a_nested_argument_that_does_not_say_what_it_is_is_found() -> None:
    class Stamp(Input):
        """What was paid."""

        cents: int

    class Stamped(Input):
        stamp: Stamp

    async def send(data: JSONBody[Stamped]) -> Sent: ...

    only("tool-field", "error", found(a_tool()(send)), "takes `cents`", send)


def test_a_tool_that_anybody_may_use_is_found() -> None:
    async def find() -> Sent: ...

    tool = get("/parcels", name="parcels.find").agent(description="Find it.")
    only("tool-guard", "error", found(tool(find)), "parcels_find has no guard", find)


def test_a_tool_that_everybody_signed_in_may_change_things_with_is_found() -> None:
    async def send(data: JSONBody[Parcel]) -> Sent: ...

    tool = post("/parcels", name="parcels.send", guards=[signed_in]).agent(description="Send it.")
    only("tool-anybody", "error", found(tool(send)), "anybody signed in may use its route", send)


def test_a_get_that_writes_is_found() -> None:
    async def find(db: NamedDependency[Any]) -> Sent:
        await db.write(preview)
        return Sent("")

    only("tool-writes", "warning", found(a_lookup()(find)), "it writes", find)


def test_a_tool_that_reads_beside_its_schema_is_found() -> None:
    async def find(request: Request[Any, Any, Any]) -> Sent: ...

    only("tool-input", "warning", found(a_lookup()(find)), "reads request", find)


def test_a_tool_whose_route_lets_unknown_keys_pass_is_found() -> None:
    class Open(Struct):
        note: Text

    async def send(data: JSONBody[Open]) -> Sent: ...

    only("tool-open", "error", found(a_tool()(send)), "its route does not", send)


@pytest.mark.parametrize("returned", [None, Any, dict[str, Any], str, list[Sent]])
def test_a_tool_that_does_not_say_what_it_returns_is_found(returned: Any) -> None:
    async def find() -> Any: ...

    find.__annotations__["return"] = returned
    only("tool-output", "warning", found(a_lookup()(find)), "does not say what it returns", find)


def test_a_gated_tool_that_cannot_be_repeated_is_found() -> None:
    async def send(data: JSONBody[Parcel], db: NamedDependency[Any]) -> Sent: ...

    tool = a_tool(approval="required", preview=preview)
    only("gated-repeat", "warning", found(tool(send)), "cannot be repeated", send)


def test_a_gated_tool_without_a_preview_is_found() -> None:
    async def send(data: JSONBody[Parcel], operation: NamedDependency[OperationId | None]) -> Sent: ...

    only(
        "gated-preview", "error", found(a_tool(approval="required")(send)), "without a word of what would change", send
    )


def test_a_preview_that_asks_for_what_nobody_gives_is_found() -> None:
    def wants_more(_session: Session, note: str, weight: int) -> Sent: ...

    async def send(
        data: JSONBody[Parcel], operation: NamedDependency[OperationId | None], db: NamedDependency[Any]
    ) -> Sent: ...

    tool = a_tool(approval="required", preview=wants_more)
    only("gated-argument", "error", found(tool(send)), "needs `weight`", send)


@pytest.mark.parametrize("redacted", [("note",), ("NO-TE",), ("not",)])
def test_a_preview_that_needs_what_is_redacted_is_found(redacted: tuple[str, ...]) -> None:
    async def send(
        data: JSONBody[Parcel], operation: NamedDependency[OperationId | None], db: NamedDependency[Any]
    ) -> Sent: ...

    tool = a_tool(approval="required", preview=preview, redact=redacted)
    only("gated-redacted", "error", found(tool(send)), "`note`, which is redacted", send)


def test_a_preview_that_needs_what_sounds_like_a_secret_is_found() -> None:
    class Locked(Input):
        passphrase: Text

    def tells(_session: Session, passphrase: str) -> Sent: ...

    async def send(
        data: JSONBody[Locked], operation: NamedDependency[OperationId | None], db: NamedDependency[Any]
    ) -> Sent: ...

    only("gated-redacted", "error", found(a_tool(approval="required", preview=tells)(send)), "`passphrase`", send)
