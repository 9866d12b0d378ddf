"""The short way of a request answers what the SDK's own transport would have answered."""

import logging
from typing import Any

import httpx
import pytest
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool
from starlette.requests import Request
from support_mcp import HEADERS, MODERN

from app.mcp.exchange import answer

pytestmark = pytest.mark.anyio
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}


async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name="say", description="Says it.", input_schema={"type": "object"})])


async def call_tool(_context: Any, params: Any) -> CallToolResult:
    if params.name == "break":
        raise ZeroDivisionError("a secret")
    if params.name != "say":
        raise MCPError(-32602, f"Unknown tool: {params.name}")
    return CallToolResult(content=[TextContent(type="text", text="é")], is_error="error" in params.arguments)


async def asked(version: str | None, method: str, params: dict[str, Any], *, short: bool) -> tuple[int, Any]:
    """The status and the answer, on the one way or the other."""
    server: Server[Any] = Server("test", on_list_tools=list_tools, on_call_tool=call_tool)
    headers = HEADERS | ({"MCP-Protocol-Version": version, "Mcp-Method": method} if version else {})
    if version == MODERN:
        params = {**params, "_meta": META}
        headers |= {"Mcp-Name": params["name"]} if "name" in params else {}
    message = {"jsonrpc": "2.0", "id": "seven", "method": method, "params": params}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if short:
            answered = await answer(server, Request({**scope, "user": None}), message)
            assert answered is not None
            await answered(scope, receive, send)
            return
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        response = await client.post("/mcp", json=message, headers=headers)
    assert response.headers["content-type"] == "application/json"
    return response.status_code, response.json()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {}),
        ("tools/list", {"cursor": 7}),
        ("tools/call", {"name": "say", "arguments": {}}),
        ("tools/call", {"name": "say", "arguments": {"error": 1}}),
        ("tools/call", {"name": "say", "arguments": [1]}),
        ("tools/call", {"name": "shout", "arguments": {}}),
        ("tools/call", {}),
        ("resources/list", {}),
        ("nobody/knows", {}),
        ("ping", {}),
        ("server/discover", {}),
        (
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
        ),
    ],
)
@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-11-25", MODERN])
async def test_both_ways_agree(version: str | None, method: str, params: dict[str, Any]) -> None:
    short, long = [await asked(version, method, params, short=way) for way in (True, False)]
    assert short == long


@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
async def test_a_bug_in_a_handler_is_logged_and_tells_the_client_nothing(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        _, told = await asked(version, "tools/call", {"name": "break", "arguments": {}}, short=True)
    assert told["error"] == {"code": -32603, "message": "Internal server error"}
    assert "a secret" in caplog.text
