"""Which names this server answers to. Hosts are configured, not trusted: a page elsewhere may point its name at us."""

from collections.abc import Iterable
from typing import Any

from app.runtime.tools.dispatch import ASGIApp

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
REFUSAL = b"This server does not answer to that name. Nothing was executed. Its operator may add it to ALLOWED_HOSTS.\n"


class KnownHosts:
    """Wraps the app as the network sees it: a Host header that names neither loopback nor a known host gets a 400."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app, self._hosts = app, {*LOOPBACK, *(host.lower() for host in hosts)}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and _host(scope["headers"]) not in self._hosts:
            headers = [(b"content-type", b"text/plain; charset=utf-8")]
            await send({"type": "http.response.start", "status": 400, "headers": headers})
            await send({"type": "http.response.body", "body": REFUSAL})
            return
        await self._app(scope, receive, send)


def _host(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The one Host header without its port; empty when there is none, or more than one."""
    given = [value for name, value in headers if name == b"host"]
    name, colon, port = given[0].decode("latin-1").lower().rpartition(":") if len(given) == 1 else ("", "", "")
    return name if colon and port.isdigit() else name + colon + port
