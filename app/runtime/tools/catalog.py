"""What can be called: every route that carries the `.agent()` mark, with the schemas of its own types.

A tool's name is its route's name with dots turned into underscores, its input is path, query and body together.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.params import CookieParameter, HeaderParameter, ParameterKwarg
from litestar.routes import HTTPRoute
from msgspec import NODEFAULT, Meta, Struct, structs

from app.runtime.errors import ToolNotFound, WiringError
from app.runtime.tools.agent_route import MARK, Mark
from app.runtime.tools.fingerprint import canonical

Source = Literal["path", "query", "body"]
Input = tuple[str, Any, Any, Source]  # name, type, default, where its route reads it
RESERVED = {"request", "state", "scope", "headers", "cookies", "query", "body", "socket"}
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
    fields = inputs(route, handler)
    sources = _sources(handler.name, fields)
    struct = msgspec.defstruct(
        name,
        [(f, t) if default is NODEFAULT else (f, t, default) for f, t, default, _ in fields],
        kw_only=True,
        forbid_unknown_fields=True,
    )
    input_schema, output_schema = schema_of(struct), schema_of(handler.parsed_return_field.annotation)
    return Tool(
        name=name,
        route=handler.name,
        method=next(iter(handler.http_methods)),
        path="".join(f"/{{{part.name}}}" if hasattr(part, "name") else f"/{part}" for part in route.path_components),
        mark=mark,
        sources=sources,
        input=struct,
        input_schema=input_schema,
        output_schema=output_schema if output_schema.get("type") == "object" else None,
    )


def inputs(route: HTTPRoute, handler: HTTPRouteHandler) -> list[Input]:
    """Every argument that a caller gives. Raises WiringError for a body that is no struct."""
    found: list[Input] = []
    dependencies = handler.resolve_dependencies().keys() | RESERVED
    for field in structs.fields(handler.signature_model):
        if field.name == "data":
            found += _body(handler)
        elif field.name not in dependencies:
            found.append(_parameter(route, handler, field))
    return found


def _is_segment(text: str) -> bool:
    return text not in ("", ".", "..") and not set(text) & set("/\\\0")


def _default(field: structs.FieldInfo) -> Any:
    if field.default_factory is not NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return field.default


def _caller_type(annotation: Any) -> Any:
    """An int subclass such as TicketId is a number to a caller, and its docstring says which."""
    inner = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if isinstance(inner, type) and issubclass(inner, int) and inner not in (int, bool):
        return Annotated[int, Meta(ge=1, le=2**53 - 1, description=inner.__doc__)]
    return annotation


def schema_of(annotation: Any) -> dict[str, Any]:
    [schema], components = msgspec.json.schema_components([annotation], ref_template="#/$defs/{name}")
    if "$ref" in schema:
        schema = components.pop(schema["$ref"].rpartition("/")[2])
    return {**schema, "$defs": components} if components else schema
