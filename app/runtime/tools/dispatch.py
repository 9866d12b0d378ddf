"""Gate 5 of the pipeline: the tool's route is called, in process, through the very app that serves the network."""

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from app.runtime.principal import IN_PROCESS, InProcess
from app.runtime.tools.catalog import Tool
from app.runtime.tools.results import Outcome

WITHOUT_CONTENT = {204, *range(300, 400)}  # what HTTP says them with is for browsers
TEXT_MAX = 50_000  # characters of an answer that is no JSON
SHAPES = {list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
Message = MutableMapping[str, Any]
ASGIApp = Callable[
    [Any, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]],
    Awaitable[None],
]


async def dispatch(app: ASGIApp, tool: Tool, arguments: dict[str, Any], caller: InProcess) -> Outcome:
    """One in-process ASGI call. The caller rides under a private scope key; no header and no token is involved."""
    scope, body = _request(tool, arguments)
    scope[IN_PROCESS] = replace(caller, route=tool.route)
    response = _Response(body)
    await app(scope, response.receive, response.send)
    return response.outcome(None if caller.rehearsal else tool)


def _request(tool: Tool, arguments: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    parts: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
    for name, value in arguments.items():
        parts[tool.sources[name]][name] = value
    path = tool.path.format_map(parts["path"])  # each value is one segment: `Tool.validate` has seen to it
    body = msgspec.json.encode(parts["body"]) if tool.has_body else b""
    query = urlencode({k: _query_text(v) for k, v in parts["query"].items() if v is not None}, doseq=True)
    headers = [(b"host", b"localhost"), (b"accept", b"application/json")]
    if body:
        headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": tool.method,
        "scheme": "http",
        "path": path,
        "raw_path": quote(path).encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": headers,
        "client": None,
        "server": None,
        "state": {},
    }
    return scope, body


def _query_text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


class _Response:
    """The two ends of the call: hands over the body once, and collects what comes back."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._status = 500
        self._headers: dict[bytes, bytes] = {}
        self._chunks: list[bytes] = []

    async def receive(self) -> Message:
        body, self._body = self._body, None
        if body is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = dict(message["headers"])
        elif message["type"] == "http.response.body":
            self._chunks.append(message.get("body", b""))

    def outcome(self, tool: Tool | None) -> Outcome:
        """With the tool at hand, an answer that is no object where its schema promises one is told apart."""
        body = self._content()
        answered = Outcome(self._status, body)
        if tool is None or tool.output_schema is None or answered.is_error or isinstance(body, dict):
            return answered
        got = f"{tool.name} ran and answered {self._status}, with {SHAPES.get(type(body), 'null')}"
        return replace(answered, mismatch=f"{got} where it promises an object. Do not simply repeat it.")

    def _content(self) -> Any:
        if self._status in WITHOUT_CONTENT:
            where = self._headers.get(b"location", b"").decode(errors="replace")
            return f"It answered {self._status}{f', see {where}' if where else ''}."
        raw = b"".join(self._chunks)
        if b"json" in self._headers.get(b"content-type", b""):
            with suppress(msgspec.DecodeError):
                return msgspec.json.decode(raw)
        text = raw.decode(errors="replace") or f"It answered {self._status}."
        left = len(text) - TEXT_MAX
        return f"{text[:TEXT_MAX]}… and {left} characters more." if left > 0 else text
