"""What the runtime of the agents costs: turns, wakes, sleepers, and a ledger full of answered calls."""

import time
from collections.abc import Callable
from datetime import timedelta
from statistics import quantiles

from msgspec import Struct
from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from app.main import System
from app.measure.bench import hosting, installed
from app.measure.sleepers import Sleepers, sleepers
from app.runtime.durable.agent import Agent
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.durable.storage import Synchronous
from app.runtime.instants import to_text, utc_now
from app.runtime.principal import Principal
from app.runtime.tools.results import Pending
from app.services import approvals
from db.schema import TicketRow

TURNS_S = 2.0  # how long turns are counted, in seconds
WAKES, DRAINED = 200, 1000  # calls
ASKS_A_TURN = 20  # two statements each, of fifty
SOMEBODY = Principal("operator", "measure", "measure", frozenset({"operate"}))
SLEEPERS = 10_000


class Quantiles(Struct, frozen=True):
    p50: float
    p99: float


class Durable(Struct, frozen=True):
    turns_per_s_full: float
    turns_per_s_normal: float
    wake_ms: Quantiles
    sleepers: Sleepers
    drain_1000_s: float


class Count(Struct, frozen=True):
    value: int = 0


class Worker(Agent[Count]):
    """`add` writes its state. `ask` asks to close the next ticket, a few times."""

    state_type = Count
    rpc = ("add", "ask")

    async def add(self) -> None:
        self.set_state(Count(self.state.value + 1))

    async def ask(self) -> list[str]:
        asked = []
        for _ in range(ASKS_A_TURN):
            await self.add()
            result = await self.tools.call("tickets_close", {"ticket_id": self.state.value, "version": 1})
            assert isinstance(result, Pending), result  # noqa: S101 (what is measured must be what is meant)
            asked.append(result.request_id)
        return asked


async def measure(say: Callable[[str], None]) -> Durable:
    with installed() as system:
        say("Turns that write state, at synchronous FULL and NORMAL")
        full, normal = [await _turns_per_s(system, synchronous) for synchronous in ("FULL", "NORMAL")]
        with hosting(system, Worker) as host:
            say(f"{WAKES + DRAINED} calls are asked")
            await system.db.write(_tickets, WAKES + DRAINED)
            asked = await _ask(host, WAKES + DRAINED)
            say(f"{WAKES} answers, one by one")
            wakes = [await _wake_ms(system, host, request) for request in asked[:WAKES]]
            say(f"{DRAINED} answers at once")
            drain_s = await _drain_s(system, host, asked[WAKES:])
            assert await system.db.read(_closed) == WAKES + DRAINED  # noqa: S101 (a figure of nothing is none)
    say(f"{SLEEPERS} sleeping instances")
    return Durable(
        turns_per_s_full=full,
        turns_per_s_normal=normal,
        wake_ms=_quantiles(wakes),
        sleepers=sleepers(SLEEPERS),
        drain_1000_s=round(drain_s, 1),
    )


async def _turns_per_s(system: System, synchronous: Synchronous) -> float:
    with hosting(system, Worker, synchronous) as host:
        main, turns, start = host.get("triager", "main"), 0, time.perf_counter()
        while time.perf_counter() < start + TURNS_S:
            await main.call("add")
            turns += 1
        return round(turns / (time.perf_counter() - start))


async def _ask(host: EmbeddedHost, count: int) -> list[str]:
    main = host.get("triager", "main")
    return [request for _ in range(count // ASKS_A_TURN) for request in await main.call("ask")]


async def _wake_ms(system: System, host: EmbeddedHost, request: str) -> float:
    """From a person's answer to the closed ticket, in milliseconds."""
    start = time.perf_counter()
    host.wake(await _approve(system, [request]))
    await host.drain()
    return (time.perf_counter() - start) * 1000


async def _drain_s(system: System, host: EmbeddedHost, requests: list[str]) -> float:
    answered = await _approve(system, requests)
    start = time.perf_counter()
    host.wake(answered)
    await host.drain()
    return time.perf_counter() - start


async def _approve(system: System, requests: list[str]) -> list[tuple[str, str]]:
    """Whose requests they are, and which."""
    ttl_s, now = system.settings.approval_use_ttl_s, utc_now()

    def approve(session: Session) -> list[tuple[str, str]]:
        rows = [
            approvals.approve(session, request, by=SOMEBODY, now=now, reason=None, use_ttl_s=ttl_s)
            for request in requests
        ]
        return [(row.principal, row.id) for row in rows]

    return await system.db.write(approve)


def _tickets(session: Session, count: int) -> None:
    at = to_text(utc_now() - timedelta(days=30))
    row = {"title": "Stale", "created_at": at, "updated_at": at, "last_activity_at": at, "last_speaker": "operator"}
    session.execute(insert(TicketRow), [row] * count)


def _closed(session: Session) -> int:
    return session.scalar(select(func.count()).where(TicketRow.status == "closed")) or 0


def _quantiles(values: list[float]) -> Quantiles:
    of_hundred = quantiles(values, n=100)
    return Quantiles(p50=round(of_hundred[49], 1), p99=round(of_hundred[98], 1))
