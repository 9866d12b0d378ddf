"""A request as a value, answered in process or over a connection."""

import http.client
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from app.runtime.tools.dispatch import ASGIApp

HOST = "localhost"
TRACE = "a" * 32  # of every request made here, so that its invocation is told from those around it
TRACEPARENT = f"00-{TRACE}-{'b' * 16}-01"


class Request(Struct, frozen=True):
    method: str
    target: str  # path and query
    headers: dict[str, str] = {}
    body: bytes = b""


class Answer(Struct, frozen=True):
    status: int
    body: bytes


def get(path: str, headers: Mapping[str, str], **query: Any) -> Request:
    return Request("GET", f"{path}?{urlencode(query)}" if query else path, dict(headers))


def post_json(path: str, headers: Mapping[str, str], body: Any, method: str = "POST") -> Request:
    named = {**headers, "content-type": "application/json"}
    return Request(method, path, named, msgspec.json.encode(body))


def post_form(path: str, headers: Mapping[str, str], fields: Mapping[str, str] | list[tuple[str, str]]) -> Request:
    named = {**headers, "content-type": "application/x-www-form-urlencoded"}
    return Request("POST", path, named, urlencode(fields).encode())


async def in_process(app: ASGIApp, request: Request) -> Answer:
    """One call of the whole app, its outermost layer included."""
    path, _, query = request.target.partition("?")
    named = {"host": HOST, "traceparent": TRACEPARENT, **request.headers, "content-length": str(len(request.body))}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": path,
        "raw_path": quote(path).encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 3336),
        "state": {},
    }
    status, chunks, parts = 0, [], [{"type": "http.request", "body": request.body, "more_body": False}]

    async def receive() -> Any:
        return parts.pop() if parts else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            chunks.append(message.get("body", b""))

    await app(scope, receive, send)
    return Answer(status, b"".join(chunks))


def over(connection: http.client.HTTPConnection, request: Request) -> Answer:
    """Over a connection that is kept open, and opened anew where the server has closed it meanwhile."""
    try:
        return _over(connection, request)
    except http.client.RemoteDisconnected:
        connection.close()
        return _over(connection, request)


def _over(connection: http.client.HTTPConnection, request: Request) -> Answer:
    connection.request(request.method, request.target, request.body or None, {"host": HOST, **request.headers})
    answer = connection.getresponse()
    return Answer(answer.status, answer.read())
