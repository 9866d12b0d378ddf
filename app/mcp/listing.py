"""What tools/list shows: the tools that a token's scopes grant, as the catalog has them, in the protocol's words."""

from typing import Any

from mcp_types import Tool, ToolAnnotations

from app.runtime.tools import catalog
from app.runtime.tools.companions import ApprovalStatus, Preflight, Standing, Told, Verdict
from app.runtime.tools.inputs import schema_of
from app.runtime.tools.pipeline import Caller, Pipeline

STATUS_SAYS = "How a request to people stands that one of your calls has made. Costs nothing."
PREFLIGHT_SAYS = "What would become of a call: whether it may run, and what it would change. Runs nothing, asks nobody."
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TOLD = "Told"  # the name of the schema of what a call that waits is told


class Listing:
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._tools = {tool.name: _listed(tool) for tool in pipeline.catalog}
        self._status = _companion(catalog.STATUS, STATUS_SAYS, ApprovalStatus, Standing)
        self._preflight = _companion(catalog.PREFLIGHT, PREFLIGHT_SAYS, Preflight, Verdict)

    def of(self, caller: Caller) -> list[Tool]:
        """In the catalog's order; then the two companions, where there is something to use them on."""
        granted = [tool for tool in self._pipeline.catalog if not self._pipeline.out_of_scope(caller, tool.name)]
        gated = [self._status] if any(tool.gated for tool in granted) else []
        return [*(self._tools[tool.name] for tool in granted), *gated, *([self._preflight] if granted else [])]


def _listed(tool: catalog.Tool) -> Tool:
    return Tool(
        name=tool.name,
        description=tool.mark.description,
        input_schema={"$schema": DIALECT, **tool.input_schema},
        output_schema=output_schema(tool),
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def _companion(name: str, description: str, asked: type, answered: type) -> Tool:
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    input_schema, output_schema = ({"$schema": DIALECT, **schema_of(each)} for each in (asked, answered))
    return Tool(
        name=name, description=description, input_schema=input_schema, output_schema=output_schema, annotations=reads
    )


def output_schema(tool: catalog.Tool) -> dict[str, Any] | None:
    """What its structured results satisfy; None where the route answers with anything but an object.

    A gated call is answered by its route, or told that it waits: one of the two, and never both.
    """
    if tool.output_schema is None:
        return None
    if not tool.gated:
        return {"$schema": DIALECT, **tool.output_schema}
    ref = {"$ref": f"#/$defs/{TOLD}"}
    route = {name: value for name, value in tool.output_schema.items() if name != "$defs"}
    defs = {**tool.output_schema.get("$defs", {}), TOLD: schema_of(Told)}
    return {"$schema": DIALECT, "type": "object", "oneOf": [{**route, "not": ref}, ref], "$defs": defs}
