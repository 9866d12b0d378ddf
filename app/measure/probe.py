"""One act, looked at closely: the statements of each invocation in it, its CPU and wall time, its memory."""

import gc
import sqlite3
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from msgspec import Struct, field
from sqlalchemy import Engine, event

from app.runtime import invocation

Act = Callable[[], Awaitable[Any]]


class Statement(Struct, frozen=True):
    sql: str
    parameters: Any


class Explained(Struct, frozen=True):
    """A statement, and how SQLite finds its rows."""

    sql: str
    plan: list[str]


class Cost(Struct):
    """What an invocation takes: CPU and wall in milliseconds, of this process; memory in KB over what was there.

    `wire_cpu_ms`: CPU of a server that answers it on loopback; None where that was not asked.
    """

    name: str
    statements: int
    budget: int | None
    cpu_ms: float
    cpu_p95_ms: float
    wall_ms: float
    peak_kb: float
    wire_cpu_ms: float | None = None
    sql: list[Explained] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return self.budget is None or self.statements > self.budget


class Watched(Struct):
    """The statements of one invocation."""

    trace: str
    statements: list[Statement]


@contextmanager
def watching() -> Iterator[list[Watched]]:
    """Every invocation that runs a statement within the block, in the order of their first ones."""
    found: list[Watched] = []
    known: dict[int, tuple[Any, Watched]] = {}  # holds the invocations, so that no two have one id

    def note(_connection: Any, _cursor: Any, sql: str, parameters: Any, *_: Any) -> None:
        if current := invocation.current():
            if id(current) not in known:
                found.append(Watched(current.trace_id, []))
                known[id(current)] = current, found[-1]
            known[id(current)][1].statements.append(Statement(sql, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def spent(act: Act) -> tuple[float, float]:
    """Its CPU and wall time, in milliseconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    await act()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


async def peak_kb(act: Act) -> float:
    """The most memory that Python held at once during the act, over what it held before."""
    gc.collect()
    tracemalloc.start()
    try:
        await act()
        return tracemalloc.get_traced_memory()[1] / 1000
    finally:
        tracemalloc.stop()


def cost(name: str, budget: int | None, ran: list[Explained], times: list[tuple[float, float]], peak: float) -> Cost:
    cpu, wall = [one for one, _ in times], [one for _, one in times]
    return Cost(
        name,
        len(ran),
        budget,
        cpu_ms=round(median(cpu), 2),
        cpu_p95_ms=round(quantiles(cpu, n=20)[-1] if len(cpu) > 1 else cpu[0], 2),
        wall_ms=round(median(wall), 2),
        peak_kb=round(peak),
        sql=ran,
    )


def explained(database: Path, statements: list[Statement]) -> list[Explained]:
    with closing(sqlite3.connect(database)) as connection:
        return [
            Explained(
                " ".join(one.sql.split()),
                [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {one.sql}", one.parameters)],
            )
            for one in statements
        ]
