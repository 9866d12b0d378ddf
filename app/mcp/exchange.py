"""The short way of a request: straight into the SDK's kernel, in the task that brought it.

The SDK's own transport answers the same through four tasks and five streams for each request, which costs several
times what a call does. It still gets whatever is not plainly a request: it knows how to refuse, and acknowledges
notifications.
"""

from typing import Any, Never

import anyio
import msgspec
from litestar.response.base import ASGIResponse
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request

from app.runtime.principal import Principal

OK = 200
LISTEN = "subscriptions/listen"  # is answered by a stream


class Exchange:
    """One request and its one answer, as the kernel and our handlers see them. Nothing else goes back to the client."""

    transport = TransportContext(kind="streamable-http", can_send_request=False)
    can_send_request = False

    def __init__(self, principal: Principal, request_id: int | str) -> None:
        self.principal, self.request_id = principal, request_id
        self.structure: msgspec.Raw | None = None  # what the handler leaves here stands in its result, as it is
        self.message_metadata = ServerMessageMetadata(request_context=self)
        self.cancel_requested = anyio.Event()

    async def send_raw_request(self, method: str, *_: Any) -> Never:
        raise NoBackChannelError(method)

    async def notify(self, *_: Any) -> None: ...

    async def progress(self, *_: Any) -> None: ...


async def answer(server: Server[Any], request: Request, message: dict[str, Any]) -> ASGIResponse | None:
    """None for what is not plainly a request in a revision that is spoken here."""
    connection = _connection(request, message)
    if connection is None:
        return None
    exchange = Exchange(request.scope["user"], message["id"])
    envelope = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        result = await serve_one(
            server, exchange, message["method"], message.get("params"), connection=connection, lifespan_state={}
        )
    except Exception as error:  # noqa: BLE001 (the kernel raises all: the SDK says which, and logs bugs)
        fault = modern_error_data(error)
        handshake = connection.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
        status = OK if handshake else ERROR_CODE_HTTP_STATUS.get(fault.code, OK)
        return _json({**envelope, "error": fault.model_dump(mode="json", exclude_none=True)}, status)
    structured = {"structuredContent": exchange.structure} if exchange.structure else {}
    return _json({**envelope, "result": {**result, **structured}}, OK)


def _connection(request: Request, message: dict[str, Any]) -> Connection | None:
    """What the client says of itself, once its message and its headers are found to agree."""
    try:
        JSONRPCRequest.model_validate(message, by_name=False)
    except ValidationError:
        return None
    if message["method"] == LISTEN or not check_accept_headers(request)[0]:
        return None
    version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        return Connection.from_envelope(version, None, None)
    if find_duplicated_routing_header(request.headers.items()):
        return None
    route = classify_inbound_request(message, headers=dict(request.headers))
    if isinstance(route, InboundLadderRejection):
        return None
    return Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)


def _json(message: dict[str, Any], status: int) -> ASGIResponse:
    return ASGIResponse(body=msgspec.json.encode(message), status_code=status, media_type="application/json")
