"""What tools/list shows: the tools that a token's scopes grant, as the catalog has them, in the protocol's words."""

from typing import Any

from mcp_types import Tool, ToolAnnotations

from app.runtime.tools import catalog
from app.runtime.tools.pipeline import Caller, Pipeline


class Listing:
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._tools = {tool.name: _listed(tool) for tool in pipeline.catalog}

    def of(self, caller: Caller) -> list[Tool]:
        return [tool for name, tool in self._tools.items() if not self._pipeline.out_of_scope(caller, name)]


def _listed(tool: catalog.Tool) -> Tool:
    return Tool(
        name=tool.name,
        description=tool.mark.description,
        input_schema=tool.input_schema,
        output_schema=output_schema(tool),
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=not tool.read_only,
            idempotent_hint=tool.read_only,
            open_world_hint=False,
        ),
    )


def output_schema(tool: catalog.Tool) -> dict[str, Any] | None:
    """What its structured results satisfy; None where the route answers with anything but an object."""
    if tool.output_schema.get("type") != "object":
        return None
    return tool.output_schema
