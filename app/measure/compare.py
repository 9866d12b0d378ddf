"""Our list endpoint beside others', served at once under the same load in turn, and a tool call beside other ways.

Needs the extra [bench]. Server CPU of one run on one machine, as ratios: they hold where machines differ.
"""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from importlib.util import find_spec
from itertools import chain
from statistics import median
from typing import Any

import httpx
from msgspec import Struct

from app.domain import Unavailable
from app.main import System
from app.measure import tools
from app.measure.asgi import Request, get, over
from app.measure.bench import KEY, installed
from app.measure.furnished import Furnished
from app.measure.probe import spent
from app.measure.process import Served, served
from app.measure.routes import expect
from app.runtime.instants import to_text

REQUESTS, ROUNDS, CLIENTS = 160, 9, 8  # a turn, how many of them, and who asks at once
CALLS = 400
PEERS = {
    "Starlette, raw sqlite3": "app.measure.peers.starlette_raw",
    "FastAPI, SQLAlchemy": "app.measure.peers.fastapi_sync",
    "FastAPI, aiosqlite": "app.measure.peers.fastapi_aiosqlite",
}
OURS = "Triager"


class Beside(Struct, frozen=True):
    """Milliseconds of CPU a call, and how many times ours that is."""

    name: str
    cpu_ms: float
    ratio: float


class Compared(Struct, frozen=True):
    """`lists`: GET /tickets, 50 rows, on the wire. `calls`: the same list by each way to call, over the bare route."""

    lists: list[Beside]
    calls: list[Beside]


async def measure(tell: Callable[[str], None]) -> Compared:
    """Raises Unavailable without the extra."""
    if not (find_spec("fastapi") and find_spec("aiosqlite")):
        raise Unavailable("FastAPI and aiosqlite are not installed. Nothing was measured. Run: uv sync --extra bench")
    with installed() as system, ExitStack() as stack:
        house = Furnished(system)
        await house.furnish()
        request = get("/tickets", house.bearer, status="open", limit=50, inactive_since=to_text(system.clock()))
        tell(f"{REQUESTS} requests of {CLIENTS} clients to each server in turn, {ROUNDS} times over")
        folder, database = str(system.settings.data_dir), str(system.settings.database)
        ours = served("app.cli", "serve", DATA_DIR=folder, APP_KEY=KEY, PORT="0")
        servers = {OURS: stack.enter_context(ours)}
        servers |= {name: stack.enter_context(served(module, database)) for name, module in PEERS.items()}
        lists = _beside(_on_the_wire(servers, request))
        tell("A tool call, and the same list over httpx's transport, HTTP and MCP")
        calls = _beside(await _calls(system, servers[OURS], request))
    return Compared(lists, calls)


def _beside(costs: dict[str, float]) -> list[Beside]:
    """The first is ours."""
    ours = next(iter(costs.values()))
    return [Beside(name, round(cost, 3), round(cost / ours, 2)) for name, cost in costs.items()]


def _on_the_wire(servers: dict[str, Served], request: Request) -> dict[str, float]:
    rounds: dict[str, list[float]] = {name: [] for name in servers}
    for name, server in chain(servers.items(), *[servers.items()] * ROUNDS):  # the first time round only warms up
        begun = server.cpu_ms()
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(partial(_ask, server, request), [REQUESTS // CLIENTS] * CLIENTS))
        rounds[name].append((server.cpu_ms() - begun) / REQUESTS)
    return {name: median(costs[1:]) for name, costs in rounds.items()}


def _ask(server: Served, request: Request, number: int) -> None:
    with closing(server.connect()) as connection:
        for _ in range(number):
            expect(request, over(connection, request))


async def _calls(system: System, server: Served, request: Request) -> dict[str, float]:
    """Client and server together, over what the bare route takes."""
    costs = await tools.measure(lambda _: None)
    transport = httpx.ASGITransport(system.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        by_transport = await _median_ms(lambda: client.get(request.target, headers=request.headers))
    begun = server.cpu_ms()
    async with httpx.AsyncClient(base_url=server.address) as client:
        by_http = await _median_ms(lambda: client.get(request.target, headers=request.headers))
    by_http += (server.cpu_ms() - begun) / CALLS
    return {
        "tool call, in process": costs.tool_over_route_ms,
        "httpx over ASGI, in process": by_transport - costs.route_ms,
        "HTTP on loopback": by_http - costs.route_ms,
        "MCP, in process": costs.mcp_over_route_ms,
    }


async def _median_ms(call: Callable[[], Awaitable[Any]]) -> float:
    return median([(await spent(call))[0] for _ in range(CALLS)])
