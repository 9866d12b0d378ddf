"""tools/call: a tool of the catalog, or a companion. What a token may not call is as unknown as what does not exist."""

from typing import Any

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from app.mcp.answers import Answer, answer, refused, structured
from app.mcp.listing import Listing
from app.runtime.tools.catalog import COMPANIONS, PREFLIGHT, STATUS
from app.runtime.tools.companions import ApprovalStatus, Preflight, verdict
from app.runtime.tools.pipeline import Caller, Pipeline


class Calls:
    def __init__(self, pipeline: Pipeline, listing: Listing) -> None:
        self._pipeline, self._listing = pipeline, listing

    async def call(self, caller: Caller, name: str, arguments: dict[str, Any]) -> Answer:
        """Raises MCPError for a tool that the caller was not shown."""
        listed = {tool.name: tool for tool in self._listing.of(caller)}
        if name not in listed:
            raise await self._unknown(caller, name)
        try:
            if name == STATUS:
                request_id = msgspec.convert(arguments, ApprovalStatus).request_id
                return answer(listed[name], await self._pipeline.approval_status(caller, request_id))
            if name == PREFLIGHT:
                return await self._preflight(caller, msgspec.convert(arguments, Preflight), listed.keys() - COMPANIONS)
        except msgspec.ValidationError as error:
            return refused(f"{error}. Nothing was executed.")
        return answer(listed[name], await self._pipeline.invoke(caller, name, arguments))

    async def _preflight(self, caller: Caller, asked: Preflight, known: set[str]) -> Answer:
        if asked.tool not in known:
            raise await self._unknown(caller, asked.tool)
        result = await self._pipeline.preflight(caller, asked.tool, asked.arguments)
        return structured(verdict(self._pipeline.catalog.get(asked.tool), result))

    async def _unknown(self, caller: Caller, name: str) -> MCPError:
        """The caller is told nothing more where its scopes refuse a tool that exists. The audit trail is."""
        if name in self._pipeline.catalog:
            await self._pipeline.invoke(caller, name, {})
        return MCPError(INVALID_PARAMS, f"Unknown tool: {name}. Nothing was executed. See: tools/list")
