"""What a route takes and gives, by its handler's own types: path, query and body as a caller writes them.

`parameters`, `body` and `answer` describe any route; `arguments` is all that a tool takes, in one.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import msgspec
from litestar import Response
from litestar.handlers import HTTPRouteHandler
from litestar.params import CookieParameter, HeaderParameter, ParameterKwarg
from litestar.routes import HTTPRoute
from msgspec import NODEFAULT, Meta, Struct, structs

from app.runtime.errors import WiringError

Source = Literal["path", "query", "header", "cookie", "body"]
RESERVED = {"request", "state", "scope", "headers", "cookies", "query", "body", "socket"}
# What stands in a path is one whole segment of it, as `Tool.validate` has it.
SEGMENT = Meta(extra_json_schema={"not": {"pattern": r"^\.{0,2}(?![\s\S])|[/\\\u0000]"}})
IN_A_QUERY = {"string", "integer", "number", "boolean"}


class Input(NamedTuple):
    name: str  # as the caller writes it
    type: Any
    default: Any  # or NODEFAULT
    source: Source


def path_of(route: HTTPRoute) -> str:
    """/tickets/{ticket_id}/close"""
    return "".join(f"/{{{part.name}}}" if hasattr(part, "name") else f"/{part}" for part in route.path_components)


def parameters(route: HTTPRoute, handler: HTTPRouteHandler) -> Iterator[Input]:
    others = handler.resolve_dependencies().keys() | RESERVED | {"data"}
    for field in structs.fields(handler.signature_model):
        if field.name not in others:
            how = handler.parsed_fn_signature.parameters[field.name].kwarg_definition
            name = how.name if isinstance(how, ParameterKwarg) and how.name else field.name
            source = _source(route, field.name, how)
            yield Input(name, _caller_type(field.type, source), _default(field), source)


def body(handler: HTTPRouteHandler) -> type[Struct] | None:
    """The struct of its body, None without one. Raises WiringError for a body of another kind."""
    data = handler.parsed_data_field
    if data is None:
        return None
    if isinstance(data.annotation, type) and issubclass(data.annotation, Struct):
        return data.annotation
    raise WiringError(f"{handler.name} takes a body that is no struct. Give it one, with a field for each argument.")


def answer(handler: HTTPRouteHandler) -> Any:
    """The type it answers with: T of a Response[T], and Any of a bare one."""
    returned = handler.parsed_return_field
    if not returned.is_subclass_of(Response):
        return returned.annotation
    return returned.inner_types[0].annotation if returned.inner_types else Any


def arguments(route: HTTPRoute, handler: HTTPRouteHandler) -> list[Input]:
    """Everything a tool takes, each name once. Raises WiringError for what no caller of a tool could say."""
    struct, found = body(handler), list(parameters(route, handler))
    if struct is not None:
        found += [Input(field.encode_name, field.type, _default(field), "body") for field in structs.fields(struct)]
    sources: dict[str, Source] = {}
    for name, annotation, default, source in found:
        if name in sources:
            raise WiringError(f'{handler.name} takes "{name}" from {sources[name]} and from {source}. Rename one.')
        if source in ("header", "cookie"):
            raise WiringError(f'{handler.name} takes "{name}" from a {source}, which no tool sends. Use the query.')
        if source == "query" and not _fits_a_query(annotation, default):
            said = "a query holds one text, number or truth, and null only where that is the default"
            raise WiringError(f'{handler.name} takes "{name}" from its query, but {said}. Take it from the body.')
        sources[name] = source
    return found


def schema_of(annotation: Any) -> dict[str, Any]:
    """JSON Schema 2020-12."""
    [schema], components = msgspec.json.schema_components([annotation], ref_template="#/$defs/{name}")
    if "$ref" in schema:
        schema = components.pop(schema["$ref"].rpartition("/")[2])
    return {**schema, "$defs": components} if components else schema


def _source(route: HTTPRoute, name: str, how: Any) -> Source:
    if isinstance(how, HeaderParameter | CookieParameter):
        return "header" if isinstance(how, HeaderParameter) else "cookie"
    return "path" if name in route.path_parameters else "query"


def _fits_a_query(annotation: Any, default: Any) -> bool:
    """Null is said by leaving the argument out, so it must mean the same."""
    schema = schema_of(annotation)
    parts = [schema.get("$defs", {}).get(part.get("$ref", "")[8:], part) for part in schema.get("anyOf", [schema])]
    kinds = {part.get("type", "string" if "enum" in part else None) for part in parts}
    return kinds - {"null"} <= IN_A_QUERY and ("null" not in kinds or default in (None, NODEFAULT))


def _default(field: structs.FieldInfo) -> Any:
    if field.default_factory is not NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return field.default


def _caller_type(annotation: Any, source: Source) -> Any:
    """An int subclass such as TicketId is a number to a caller, and its docstring says which."""
    inner = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if isinstance(inner, type) and issubclass(inner, int) and inner is not int and not issubclass(inner, bool | Enum):
        return Annotated[int, Meta(ge=1, le=2**53 - 1, description=inner.__doc__)]
    return Annotated[annotation, SEGMENT] if inner is str and source == "path" else annotation
