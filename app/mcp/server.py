"""The SDK's low-level server, with the two callbacks it asks for. It speaks the handshake revisions and 2026-07-28."""

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams
from starlette.requests import Request

from app.mcp.calls import Calls
from app.mcp.endpoint import Serve
from app.mcp.exchange import Exchange, answer
from app.mcp.listing import Listing
from app.runtime.tools.budget import Meters
from app.runtime.tools.pipeline import Caller, Pipeline

CALLS_PER_MINUTE, WRITES_PER_MINUTE = 60, 20  # of one token
INSTRUCTIONS = (
    "Some tools ask a person first: the answer is then status pending, with a request id. Nothing has happened yet. "
    "Look how it stands with approval_status, and repeat the very same call once it is approved: that carries it out."
)
Context = ServerRequestContext[Any]


def serving(pipeline: Pipeline) -> Serve:
    """Answers one POST at a time. What goes the SDK's way has a manager of its own: there is nothing to keep."""
    listing, meters = Listing(pipeline), Meters(CALLS_PER_MINUTE, WRITES_PER_MINUTE)
    calls = Calls(pipeline, listing)

    def caller(context: Context) -> Caller:
        principal = _exchange(context).principal
        return Caller(principal, tuple(principal.abilities), meters.of(principal.key), parking=None, surface="mcp")

    async def list_tools(context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listing.of(caller(context)))

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        answered = await calls.call(caller(context), params.name, params.arguments or {})
        _exchange(context).structure = answered.structure
        return answered.result()

    server = Server(
        "triager", title="Triager", instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )

    async def serve(scope: Any, receive: Any, send: Any, message: dict[str, Any]) -> None:
        if answered := await answer(server, Request(scope), message):
            await answered(scope, receive, send)
            return
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    return serve


def _exchange(context: Context) -> Exchange:
    exchange: Exchange = context.request  # type: ignore[assignment]  # no request comes to a handler on another way
    return exchange
