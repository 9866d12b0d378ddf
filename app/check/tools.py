"""One route that is a tool: does it say what it takes, does and returns, and may not just anybody use it?"""

import inspect
from collections.abc import Iterator
from typing import Any

from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from app.auth import signed_in
from app.check.finding import Finding, error, warning
from app.check.gated import gated_findings
from app.runtime.tools.catalog import Tool
from app.runtime.tools.inputs import RESERVED

BESIDE_ITS_SCHEMA = RESERVED - {"scope", "state"}


def tool_findings(handler: HTTPRouteHandler, tool: Tool, where: str) -> Iterator[Finding]:
    if not tool.mark.description.strip():
        yield error("tool-description", where, f"{tool.name} has no description. Say what it does, and when to use it.")
    for field in _undescribed(tool.input_schema):
        yield error("tool-field", where, f"{tool.name} takes `{field}`, and does not say what it is. Describe it.")
    yield from _permission_findings(handler, tool, where)
    yield from _schema_findings(handler, tool, where)
    if tool.gated:
        yield from gated_findings(handler, tool, where)


def _permission_findings(handler: HTTPRouteHandler, tool: Tool, where: str) -> Iterator[Finding]:
    guards = set(guards_of(handler))
    if not guards:
        yield error("tool-guard", where, f"{tool.name} has no guard, so anybody may use its route. Add guards=[…].")
    elif not tool.read_only and guards == {signed_in}:
        said = f"{tool.name} changes something, and anybody signed in may use its route. Add a guard that says who may."
        yield error("tool-anybody", where, said)
    if tool.read_only and "write" in inspect.unwrap(handler.fn).__code__.co_names:
        said = f"{tool.name} is a GET, so whoever may only read may call it, and it writes. Make it a POST."
        yield warning("tool-writes", where, said)


def _schema_findings(handler: HTTPRouteHandler, tool: Tool, where: str) -> Iterator[Finding]:
    beside = sorted(BESIDE_ITS_SCHEMA & handler.parsed_fn_signature.parameters.keys())
    if beside:
        said = f"{tool.name} reads {', '.join(beside)}, which its input schema does not show. Name what it needs of it."
        yield warning("tool-input", where, said)
    body = handler.parsed_data_field
    if body and not getattr(getattr(body.annotation, "__struct_config__", None), "forbid_unknown_fields", False):
        said = f"{tool.name} refuses unknown arguments, and its route does not. Derive its body from app.schemas.Input."
        yield error("tool-open", where, said)
    if not (tool.output_schema or {}).get("properties"):
        said = f"{tool.name} does not say what it returns. Annotate its handler with a struct of app.schemas."
        yield warning("tool-output", where, said)


def _undescribed(schema: dict[str, Any]) -> list[str]:
    """Fields of the input, and of what is nested in it."""
    parts = [schema, *schema.get("$defs", {}).values()]
    fields = [field for part in parts for field in part.get("properties", {}).items()]
    return [name for name, field in fields if not _described(field, schema.get("$defs", {}))]


def _described(field: dict[str, Any], definitions: dict[str, Any]) -> bool:
    named = definitions.get(str(field.get("$ref", "")).rpartition("/")[2], {})
    parts = (field, named, *field.get("anyOf", ()))
    return any(part.get("description") for part in parts)


def guards_of(handler: BaseRouteHandler) -> Iterator[Any]:
    return (guard for layer in handler.ownership_layers for guard in layer.guards or ())
