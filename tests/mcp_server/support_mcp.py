"""The product behind a real server on loopback, with tools tokens, and the official client in front of it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import httpx2
import uvicorn
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from sqlalchemy.orm import Session

from app.services import tokens
from tests.support import NOW
from tests.world import World, a_world

LEGACY, MODERN = "legacy", "2026-07-28"
BOTH = ("tickets_index", "tickets_close")
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass
class Endpoint:
    world: World
    address: str  # http://127.0.0.1:port
    raw: httpx.AsyncClient  # without a token
    issued: set[str] = field(default_factory=set)

    async def token(self, *tools: str, name: str = "desk") -> str:
        """The text of a tools token, issued the first time."""
        text = f"trg_{name}_secret"
        if text in self.issued:
            return text
        self.issued.add(text)
        scopes = [f"tool:{tool}" for tool in tools]

        def issue(session: Session) -> None:
            tokens.issue(session, text, NOW, name=name, email="ops@example.test", scopes=scopes, expires_at=None)

        await self.world.system.db.write(issue)
        return text

    async def revoke(self, token_id: str) -> None:
        await self.world.system.db.write(tokens.revoke, token_id, NOW)

    @asynccontextmanager
    async def client(self, token: str, mode: Any = "auto") -> AsyncIterator[Client]:
        """The SDK's own client. `mode` is legacy (a handshake), a revision, or auto, which asks the server."""
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"{self.address}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client

    async def post(self, token: str, body: Any, **headers: str) -> httpx.Response:
        """One message as it stands: bytes, or what becomes JSON."""
        given = {"content": body} if isinstance(body, bytes) else {"json": body}
        return await self.raw.post("/mcp", headers={"Authorization": f"Bearer {token}", **HEADERS, **headers}, **given)


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """The address at which an ASGI app answers, in this very process and loop."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", access_log=False))
    server.capture_signals = nullcontext  # type: ignore[method-assign]  # they are the tests'
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def an_endpoint(folder: Path, migrated: Path) -> AsyncIterator[Endpoint]:
    async with (
        a_world(folder, migrated) as world,
        serving(world.system.app) as address,
        httpx.AsyncClient(base_url=address) as raw,
    ):
        yield Endpoint(world, address, raw)
