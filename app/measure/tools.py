"""What a tool call costs over its bare route, in process and at /mcp: server CPU, no network.

The ways take turns of a few calls each, in every order, and the figure is each way's least turn: what is more is what
the machine's neighbours cost. A turn begins with a call that does not count, for the caches. The garbage collector runs
as it does in the product.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import cycle, permutations
from typing import Any

from msgspec import Struct
from sqlalchemy import insert
from sqlalchemy.orm import Session

from app.main import System
from app.measure.bench import installed
from app.runtime.instants import to_text, utc_now
from app.runtime.principal import InProcess, Principal
from app.runtime.tools.budget import Meter
from app.runtime.tools.dispatch import dispatch
from app.runtime.tools.pipeline import Caller
from app.services import tokens
from db import fixtures
from db.schema import TicketRow

TICKETS = 50
CALLS, ROUNDS = 10, 150  # a turn, and how many of them
TOKENS = [f"trg_measure{number}_secret" for number in range(CALLS * ROUNDS // 20)]  # 60 calls a minute each
ARGUMENTS = {"status": "open", "limit": TICKETS}
Call = Callable[[], Awaitable[Any]]
HANDSHAKE, NEWEST = "2025-11-25", "2026-07-28"
CAPABLE_OF: tuple[str, dict[str, Any]] = ("clientCapabilities", {})  # the newest revision's envelope wants it


class ToolCosts(Struct):
    """Milliseconds of CPU for listing 50 tickets: all of the call, then what it costs over the route."""

    route_ms: float
    tool_ms: float
    mcp_ms: float  # in the revision that most clients speak
    mcp_newest_ms: float  # in the one without a handshake
    tool_over_route_ms: float
    mcp_over_route_ms: float
    mcp_newest_over_route_ms: float


async def measure(tell: Callable[[str], None]) -> ToolCosts:
    with installed() as system:
        await system.db.write(_furnish)
        tell(f"{CALLS} calls on each way in turn, {ROUNDS} times over")
        ways = [_route(system), _tool(system), _mcp(system, HANDSHAKE), _mcp(system, NEWEST)]
        orders = cycle(permutations(range(len(ways))))
        rounds = [await _round(ways, next(orders)) for _ in range(ROUNDS)]
        least = [min(spent) for spent in zip(*rounds, strict=True)]
        return ToolCosts(*(round(ms, 3) for ms in (*least, *(ms - least[0] for ms in least[1:]))))


async def _round(ways: list[Call], order: tuple[int, ...]) -> list[float]:
    """Milliseconds of CPU of one call on each way, in the order of the ways."""
    spent = {way: await _cpu_ms(ways[way]) for way in order}
    return [spent[way] for way in range(len(ways))]


async def _cpu_ms(call: Call) -> float:
    await call()
    begun = time.process_time()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - begun) / CALLS * 1000


def _furnish(session: Session) -> None:
    now = utc_now()
    fixtures.plant(session, now)
    at = to_text(now)
    row = {"title": "Login page 500s", "created_at": at, "updated_at": at, "last_activity_at": at}
    session.execute(insert(TicketRow), [row] * TICKETS)
    scopes, until = ["tool:tickets_index"], now + timedelta(days=1)
    for token in TOKENS:
        tokens.issue(session, token, now, name="measure", email=fixtures.EMAIL, scopes=scopes, expires_at=until)


def _route(system: System) -> Call:
    tool, caller = system.catalog.get("tickets_index"), InProcess(Principal.agent("triager", "main"))
    arguments = tool.validate(dict(ARGUMENTS))
    return lambda: dispatch(system.litestar, tool, arguments, caller)


def _tool(system: System) -> Call:
    caller = Caller(Principal.agent("triager", "main"), ("tool:tickets_index",), Meter(10**6), None)
    return lambda: system.pipeline.invoke(caller, "tickets_index", dict(ARGUMENTS))


def _mcp(system: System, version: str) -> Call:
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in (("protocolVersion", version), CAPABLE_OF)}
    params = {"name": "tickets_index", "arguments": ARGUMENTS, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    named = {
        "host": "localhost",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": version,
        "mcp-method": "tools/call",
        "mcp-name": "tickets_index",
        "content-length": str(len(body)),
    }
    headers = [(name.encode(), value.encode()) for name, value in named.items()]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 3336),
    }

    turn = cycle(TOKENS)

    async def call() -> None:
        parts = [{"type": "http.request", "body": body, "more_body": False}]
        said: list[Any] = []

        async def receive() -> Any:
            return parts.pop() if parts else await asyncio.Future()  # the client stays

        async def send(message: Any) -> None:
            said.append(message)

        bearer = (b"authorization", f"Bearer {next(turn)}".encode())
        await system.app({**scope, "state": {}, "headers": [*headers, bearer]}, receive, send)
        if b'"isError":false' not in said[-1].get("body", b"") + said[-2].get("body", b""):
            raise RuntimeError(f"/mcp did not carry out the call: {said}")

    return call
