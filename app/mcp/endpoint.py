"""POST /mcp: who may come in, and which bodies are one JSON-RPC message. What is left is for the SDK.

Stateless: nothing is kept between two requests, a session id is ignored, and each answer is plain JSON. The SDK takes a
second to import, so it is loaded by the first request that gets this far, and not in the event loop.
"""

import json
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

import anyio.to_thread
import msgspec
from litestar import Request, asgi
from litestar.connection import ASGIConnection
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotAuthorizedException,
    NotFoundException,
    PermissionDeniedException,
    ValidationException,
)
from litestar.handlers import ASGIRouteHandler, BaseRouteHandler
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from app.runtime.tools.dispatch import Message
from app.runtime.tools.pipeline import Pipeline
from app.web.strict import no_repeated_key

BODY_MAX = 1024 * 1024  # bytes
PARSE_ERROR, INVALID_REQUEST = -32700, -32600  # JSON-RPC's
Serve = Callable[[Any, Any, Any, dict[str, Any]], Awaitable[None]]  # an ASGI app that is told the message too


def endpoint(pipeline: Pipeline) -> ASGIRouteHandler:
    """The route. `pipeline` carries out what the holders of tokens call."""
    loaded: list[Serve] = []

    @asgi("/mcp", copy_scope=True, tools_token=True, guards=[tools_token])
    async def mcp(scope: Scope, receive: Receive, send: Send) -> None:
        check_headers(Request(scope))
        body = await _body(receive)
        message = message_of(body)
        if isinstance(message, tuple):
            await _refusal(*message)(scope, receive, send)
            return
        if not loaded:
            loaded.append(await anyio.to_thread.run_sync(_load, pipeline))
        await loaded[0](scope, _once(body, receive), send, message)

    return mcp


async def tools_token(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """A tools token, and nothing else that says who somebody is."""
    principal = connection.scope.get("user")
    if principal is None:
        raise NotAuthorizedException(
            "/mcp wants a tools token: Authorization: Bearer <token>. Nothing was executed. See: triager token issue",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if principal.kind != "token":
        raise PermissionDeniedException("/mcp takes tools tokens only. Nothing was executed. See: triager token issue")


def check_headers(request: Request[Any, Any, Any]) -> None:
    """Raises what HTTP has for a request that is no POST of JSON, or that a page elsewhere sent."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise PermissionDeniedException("This request came from another site. Nothing was executed.")
    if request.method != "POST":
        said = "/mcp keeps no stream and no session: POST only. Nothing was executed."
        raise MethodNotAllowedException(said, headers={"Allow": "POST"})
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException("/mcp reads application/json. Nothing was executed.", status_code=415)
    if find_spec("mcp") is None:
        raise NotFoundException(
            "MCP is not installed here. Nothing was executed. The operator adds it with: uv sync --extra mcp"
        )


def message_of(body: bytes) -> dict[str, Any] | tuple[int, str]:
    """One JSON-RPC message, or why the body is none, with the code for it.

    Stricter than the SDK, which takes the last of two equal keys, NaN, half a surrogate pair, and null for no id.
    """
    try:
        message = msgspec.json.decode(body)
        json.loads(body, object_pairs_hook=no_repeated_key)
    except (msgspec.DecodeError, RecursionError) as error:
        return PARSE_ERROR, f"The body is not JSON: {error}"
    except ValidationException:
        return PARSE_ERROR, "The body has a key twice"
    if not isinstance(message, dict):
        return INVALID_REQUEST, "The body is not one message: send one object, no batch"
    if type(message.get("id", 0)) not in (int, str):
        return INVALID_REQUEST, "An id is a text or a whole number"
    return message


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")  # type: ignore[operator]  # bytes, in whatever message has one
        more = bool(message.get("more_body"))
        if len(body) > BODY_MAX:
            raise HTTPException(f"A body has at most {BODY_MAX} bytes. Nothing was executed.", status_code=413)
    return body


def _refusal(code: int, message: str) -> ASGIResponse:
    error = {"code": code, "message": f"{message}. Nothing was executed."}
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})
    return ASGIResponse(body=body, status_code=400, media_type="application/json")


def _load(pipeline: Pipeline) -> Serve:
    from app.mcp.server import serving  # noqa: PLC0415 (a second of CPU)

    return serving(pipeline)


def _once(body: bytes, receive: Any) -> Callable[[], Awaitable[Message]]:
    """What the SDK receives: the body that was read already, then whatever comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        message: Message = messages.pop() if messages else await receive()
        return message

    return again
