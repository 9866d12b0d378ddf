"""The document at /schema/openapi.json: what each route takes, answers and refuses, by the very types of its handler.

Built at the first request. Litestar's own generator is not asked: it forgets that unknown keys are refused, and writes
the number of a ticket, the refusals and the tools in words of its own.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from msgspec import NODEFAULT

from app.runtime.tools.agent_route import MARK, Mark
from app.runtime.tools.inputs import Input, answer, body, parameters, path_of
from app.schemas import PROBLEM_JSON, Problem

JSON = "application/json"
REFUSES = "refuses"  # the key in a handler's opt: the statuses that the rules of `_refusals` do not tell
ABOUT = (
    "Send `Authorization: Bearer <token>`. Instants are UTC text of fixed width, unknown keys are refused, and errors "
    "are problem+json. A route with `x-tool` is also a tool of agents, with the same arguments."
)
Schema = dict[str, Any]
Describe = Callable[[Any], Schema]


@lru_cache(maxsize=1)
def document(app: Litestar) -> Schema:
    """OpenAPI 3.1, all of its schemas being JSON Schema 2020-12. Not to be changed by who gets it."""
    paths: dict[str, Schema] = {}
    components: Schema = {}
    describe = partial(_schema, components)
    for route, handler in _routes(app):
        method = next(iter(handler.http_methods)).lower()
        paths.setdefault(path_of(route), {})[method] = _operation(route, handler, describe)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Triager", "version": "1", "description": ABOUT},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


def _routes(app: Litestar) -> Iterator[tuple[HTTPRoute, HTTPRouteHandler]]:
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            yield from ((route, one) for one in route.route_handlers if one.resolve_include_in_schema())


def _schema(components: Schema, annotation: Any) -> Schema:
    [schema], found = msgspec.json.schema_components([annotation], ref_template="#/components/schemas/{name}")
    components |= found
    return schema


def _operation(route: HTTPRoute, handler: HTTPRouteHandler, describe: Describe) -> Schema:
    taken = [_parameter(one, describe) for one in parameters(route, handler)]
    struct, name, mark = body(handler), str(handler.name), handler.opt.get(MARK)
    described: Schema = {
        "operationId": name.replace(".", "_"),
        "tags": [name.partition(".")[0]],
        "summary": _summary(handler, mark),
        "security": [{"bearer": []}] if handler.resolve_guards() else [],
        "parameters": taken,
        "responses": _answers(handler, describe) | _refusals(handler, taken, describe),
    }
    if struct is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": describe(struct)}}}
    if mark is not None:
        described["x-tool"] = {"name": described["operationId"], "approval": mark.approval}
    return described


def _summary(handler: HTTPRouteHandler, mark: Mark | None) -> str:
    said = mark.description if mark else (handler.fn.__doc__ or handler.fn.__name__.replace("_", " ").capitalize())
    return " ".join(said.split())


def _parameter(one: Input, describe: Describe) -> Schema:
    """Null is said by leaving it out."""
    schema = describe(one.type)
    schemas = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    schema = schemas[0] if len(schemas) == 1 else schema | {"anyOf": schemas}
    if one.default not in (NODEFAULT, None):
        schema = schema | {"default": msgspec.to_builtins(one.default)}
    described = {"name": one.name, "in": one.source, "required": one.default is NODEFAULT, "schema": schema}
    said = schema.get("description")
    return described | ({"description": said} if said else {})


def _answers(handler: HTTPRouteHandler, describe: Describe) -> Schema:
    types = {handler.status_code: answer(handler)}
    types |= {status: spec.data_container for status, spec in (handler.responses or {}).items()}
    return {str(status): _answer(status, JSON, describe(annotation)) for status, annotation in types.items()}


def _refusals(handler: HTTPRouteHandler, taken: list[Schema], describe: Describe) -> Schema:
    statuses = {HTTPStatus.UNPROCESSABLE_ENTITY, *handler.opt.get(REFUSES, ())}
    in_path = any(one["in"] == "path" for one in taken)
    if handler.resolve_guards():
        statuses |= {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.SERVICE_UNAVAILABLE}
    if handler.parsed_data_field is not None:
        statuses |= {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE}
    if in_path:
        statuses.add(HTTPStatus.NOT_FOUND)
    if in_path and "GET" not in handler.http_methods and handler.status_code == HTTPStatus.OK:
        statuses.add(HTTPStatus.CONFLICT)  # it changes what others may have changed
    return {str(int(status)): _answer(status, PROBLEM_JSON, describe(Problem)) for status in sorted(statuses)}


def _answer(status: int, media_type: str, schema: Schema) -> Schema:
    return {"description": HTTPStatus(status).phrase, "content": {media_type: {"schema": schema}}}
