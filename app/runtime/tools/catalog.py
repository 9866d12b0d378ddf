"""What can be called: every route that carries the `.agent()` mark, with the schemas of its own types.

A tool's name is its route's name with dots turned into underscores, its input is path, query and body together.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from msgspec import NODEFAULT, Struct

from app.runtime.errors import ToolNotFound, WiringError
from app.runtime.tools.agent_route import MARK, Mark
from app.runtime.tools.fingerprint import canonical
from app.runtime.tools.inputs import Source, answer, arguments, path_of, schema_of

COMPANIONS = STATUS, PREFLIGHT = "approval_status", "preflight"  # tools that no route declares: see `companions`


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    route: str  # the route's name
    method: str
    path: str  # /tickets/{ticket_id}/close
    mark: Mark
    sources: dict[str, Source]
    input: type[Struct]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None  # None where the route answers with anything but an object
    repeatable: bool  # its handler takes the request id, and so can tell that it has run

    @property
    def has_body(self) -> bool:
        return "body" in self.sources.values()

    @property
    def gated(self) -> bool:
        return self.mark.approval == "required"

    @property
    def read_only(self) -> bool:
        """It changes nothing: a GET. What `tools:read` grants, and what a read-only person may call."""
        return self.method == "GET"

    @property
    def destructive(self) -> bool:
        return not self.read_only

    @property
    def idempotent(self) -> bool:
        """The same call twice does what it did once."""
        return self.method in ("GET", "PUT", "DELETE")

    def validate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with defaults filled in: what the fingerprint covers, and what runs.

        Raises ValueError naming the argument; a number is not a text, 7.0 is not 7, and what stands in the path is one
        whole segment of it.
        """
        try:
            canonical(arguments)
            valid: dict[str, Any] = msgspec.to_builtins(msgspec.convert(arguments, self.input))
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error
        for name, source in self.sources.items():
            if source == "path" and not _is_segment(str(valid[name])):
                raise ValueError(f"{name} is empty, a dot segment, or holds a slash, a backslash or U+0000")
        return valid

    def subject(self, arguments: dict[str, Any]) -> str:
        """What a call is about, from its first path argument: `ticket:41`. The tool's name where there is none."""
        names = [name for name, source in self.sources.items() if source == "path"]
        return f"{names[0].removesuffix('_id')}:{arguments[names[0]]}" if names else self.name


class Catalog:
    """The tools of an app, by name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in COMPANIONS:
                raise WiringError(f'"{tool.name}" is a tool of its own, which no route may claim. Rename {tool.route}.')
            if tool.name in self._tools:
                raise WiringError(f'Two routes claim the tool name "{tool.name}". Rename one of them.')
            self._tools[tool.name] = tool

    @classmethod
    def of(cls, app: Litestar) -> "Catalog":
        routes = (route for route in app.routes if isinstance(route, HTTPRoute))
        return cls(_tool(route, handler) for route in routes for handler in route.route_handlers if MARK in handler.opt)

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    def __iter__(self) -> Any:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool:
        if name not in self._tools:
            raise ToolNotFound(name, sorted(self._tools))
        return self._tools[name]


def _tool(route: HTTPRoute, handler: HTTPRouteHandler) -> Tool:
    mark: Mark = handler.opt[MARK]
    if not handler.name:
        raise WiringError(f"{handler} is marked .agent() but its route has no name.")
    if mark.preview is not None and "db" not in handler.parsed_fn_signature.parameters:
        raise WiringError(f"{handler.name} has a preview, so its handler must take `db`.")
    name = handler.name.replace(".", "_")
    taken = arguments(route, handler)
    keys = {f"a{number}": one.name for number, one in enumerate(taken)}  # not every name is one that Python has
    struct = msgspec.defstruct(
        name,
        [(a, f.type) if f.default is NODEFAULT else (a, f.type, f.default) for a, f in zip(keys, taken, strict=True)],
        kw_only=True,
        forbid_unknown_fields=True,
        rename=keys,
    )
    input_schema, output_schema = schema_of(struct), schema_of(answer(handler))
    return Tool(
        name=name,
        route=handler.name,
        method=next(iter(handler.http_methods)),
        path=path_of(route),
        mark=mark,
        sources={one.name: one.source for one in taken},
        input=struct,
        input_schema=input_schema,
        output_schema=output_schema if output_schema.get("type") == "object" else None,
        repeatable="operation" in handler.parsed_fn_signature.parameters,
    )


def _is_segment(text: str) -> bool:
    return text not in ("", ".", "..") and not set(text) & set("/\\\0")
