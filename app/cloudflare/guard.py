"""Who gets through to /agents/<agent>/<instance>: nobody, unless the registry names a function that lets them.

Decided before any object is made, and alike for an upgrade to a WebSocket. A refusal says nothing of what exists.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal
from urllib.parse import unquote

from app.runtime.registration import Registration

PREFIX = "/agents"
REFUSED = "Agents cannot be reached here. Nothing was executed. See: /ops/agents/triager"


@dataclass(frozen=True, slots=True)
class Target:
    agent: str
    instance: str


Authorize = Callable[[Any, Target], Any]  # True lets through; a response is given as it is; anything else refuses
Verdict = Literal["not mine", "refused"] | Target


class Guard:
    """`is_response` tells what an authorizer may give in place of a verdict."""

    def __init__(self, authorizers: Mapping[str, Authorize], is_response: Callable[[Any], bool]) -> None:
        self._authorizers = authorizers
        self._is_response = is_response

    async def decide(self, path: str, request: Any) -> Verdict | Any:
        """`path` as it stands in the URL. What an authorizer raises is raised: the agent answers nothing of it."""
        decoded = unquote(path)
        if decoded != PREFIX and not decoded.startswith(f"{PREFIX}/"):
            return "not mine"
        target = _target(path)
        authorize = self._authorizers.get(target.agent) if target else None
        if target is None or authorize is None:
            return "refused"
        said = authorize(request, target)
        if inspect.isawaitable(said):
            said = await said
        if said is True:
            return target
        return said if self._is_response(said) else "refused"


def authorizers(registrations: Mapping[str, Registration]) -> dict[str, Authorize]:
    """The functions that the registry names. Raises ImportError or AttributeError where one is not there."""
    named = {name: each.authorize.split(":") for name, each in registrations.items() if each.authorize}
    return {name: getattr(import_module(module), function) for name, (module, function) in named.items()}


def _target(path: str) -> Target | None:
    """Split before it is decoded, so that a slash in an instance's name stays one."""
    match path.split("/"):
        case ["", "agents", agent, instance, *_] if agent and instance:
            return Target(unquote(agent), unquote(instance))
    return None
