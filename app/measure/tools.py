"""What a tool call costs over its bare route, and what it costs at /mcp: server CPU, in process, no network."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import cycle
from statistics import median
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
CALLS, ROUNDS = 100, 9  # the figure is the median of the rounds
TOKENS = [f"trg_measure{number}_secret" for number in range(CALLS * ROUNDS // 50 + 1)]  # 60 calls a minute each
ARGUMENTS = {"status": "open", "limit": TICKETS}


class ToolCosts(Struct):
    """Milliseconds of CPU for listing 50 tickets."""

    route_ms: float
    tool_ms: float
    tool_over_route_ms: float
    mcp_ms: float


async def measure(tell: Callable[[str], None]) -> ToolCosts:
    with installed() as system:
        await system.db.write(_furnish)
        tell(f"{CALLS} calls, {ROUNDS} times over, on each way in turn")
        ways = {"route": _route(system), "tool": _tool(system), "mcp": _mcp(system)}
        for call in ways.values():
            await call()
        spent: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, call in ways.items():
                spent[name].append(await _cpu_ms(call))
        route, tool, mcp = (round(median(spent[name]), 3) for name in ways)
        return ToolCosts(route, tool, round(tool - route, 3), mcp)


async def _cpu_ms(call: Callable[[], Awaitable[Any]]) -> float:
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


def _route(system: System) -> Callable[[], Awaitable[Any]]:
    tool, caller = system.catalog.get("tickets_index"), InProcess(Principal.agent("triager", "main"))
    arguments = tool.validate(dict(ARGUMENTS))
    return lambda: dispatch(system.litestar, tool, arguments, caller)


def _tool(system: System) -> Callable[[], Awaitable[Any]]:
    caller = Caller(Principal.agent("triager", "main"), ("tool:tickets_index",), Meter(10**6), None)
    return lambda: system.pipeline.invoke(caller, "tickets_index", dict(ARGUMENTS))


def _mcp(system: System) -> Callable[[], Awaitable[Any]]:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    body = json.dumps(message | {"params": {"name": "tickets_index", "arguments": ARGUMENTS}}).encode()
    named = {
        "host": "localhost",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
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
