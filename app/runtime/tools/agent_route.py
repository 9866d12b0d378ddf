"""`.agent()`: the mark that makes a route a tool. The route stays what it was.

    @post("/tickets/{ticket_id:str}/close", name="tickets.close").agent(description="…", approval="required", preview=…)

The mark is metadata in the handler's `opt`. One thing is added to the function: in a rehearsal (a private scope key
that only `dispatch` sets) guards and validation have run, and the tool's preview answers instead of the handler.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, Protocol, Self

import litestar
from litestar.enums import HttpMethod
from litestar.handlers import HTTPRouteHandler
from litestar.types import Scope
from msgspec import UNSET, Struct, structs

from app.runtime.principal import IN_PROCESS, InProcess

P = ParamSpec("P")
MARK = "agent_tool"  # the key in the handler's opt
Approval = Literal["auto", "required"]


@dataclass(frozen=True, slots=True)
class Mark:
    """`preview` is a service: it takes the tool's own arguments by name and says what the call would do.

    `no_is_final`: a person's no to an agent is about the subject (a ticket at whatever version), not about that call.
    """

    description: str
    approval: Approval
    preview: Callable[..., Any] | None
    redact: tuple[str, ...]
    no_is_final: bool


class Reads(Protocol):
    """The handler's `db` dependency, as far as a rehearsal needs it."""

    async def read(self, service: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...


class AgentRoute(HTTPRouteHandler):
    __slots__ = ()

    def agent(
        self,
        *,
        description: str,
        approval: Approval = "auto",
        preview: Callable[..., Any] | None = None,
        redact: tuple[str, ...] = (),
        no_is_final: bool = False,
    ) -> Self:
        self.opt[MARK] = Mark(description, approval, preview, redact, no_is_final)
        return self

    def __call__(self, fn: Callable[..., Any]) -> "AgentRoute":
        mark: Mark | None = self.opt.get(MARK)
        return super().__call__(_rehearsable(fn, mark) if mark else fn)  # type: ignore[return-value]  # returns self


def _rehearsable(fn: Callable[..., Any], mark: Mark) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def handler(scope: Scope, **arguments: Any) -> Any:
        call = scope.get(IN_PROCESS)
        if isinstance(call, InProcess) and call.rehearsal:
            return await _rehearse(mark, arguments)
        return await fn(**arguments)

    signature = inspect.signature(fn)
    asgi_scope = inspect.Parameter("scope", inspect.Parameter.KEYWORD_ONLY, annotation=Scope)
    handler.__signature__ = signature.replace(  # type: ignore[attr-defined]  # inspect reads it
        parameters=[*signature.parameters.values(), asgi_scope]
    )
    handler.__annotations__ = {**fn.__annotations__, "scope": Scope}
    return handler


async def _rehearse(mark: Mark, arguments: dict[str, Any]) -> Any:
    if mark.preview is None:
        return {"allowed": True}
    db: Reads = arguments["db"]
    return await db.read(mark.preview, **own_arguments(mark.preview, arguments))


def own_arguments(service: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The handler's arguments that the preview asks for by name, its body's fields among them."""
    data = arguments.get("data")
    fields = structs.asdict(data) if isinstance(data, Struct) else {}
    given = {name: value for name, value in {**arguments, **fields}.items() if value is not UNSET}
    return {name: given[name] for name in inspect.signature(service).parameters if name in given}


def _method(like: Callable[P, HTTPRouteHandler], method: HttpMethod) -> Callable[P, AgentRoute]:
    build: Callable[..., AgentRoute] = AgentRoute

    def decorator(*args: P.args, **kwargs: P.kwargs) -> AgentRoute:
        return build(*args, http_method=method, **kwargs)

    return decorator


get = _method(litestar.get, HttpMethod.GET)
post = _method(litestar.post, HttpMethod.POST)
patch = _method(litestar.patch, HttpMethod.PATCH)
put = _method(litestar.put, HttpMethod.PUT)
delete = _method(litestar.delete, HttpMethod.DELETE)
