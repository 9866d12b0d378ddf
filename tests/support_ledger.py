"""Looking into the triager's ledger, and filling it."""

from collections.abc import Iterable, Mapping
from typing import Any

from app.runtime.durable.storage import Row
from tests.support import a_ticket
from tests.support_host import private
from tests.world import World


async def parked_closes(world: World, count: int) -> tuple[list[int], list[str]]:
    """That many stale tickets, each asked about. Their ids and the requests', in the same order."""
    tickets = [await world.system.db.write(a_ticket) for _ in range(count)]
    for _ in range(0, count, 10):
        await world.sweep()
    return tickets, await world.pending()


async def a_parked_close(world: World) -> tuple[int, str]:
    [ticket], [request] = await parked_closes(world, 1)
    return ticket, request


def ledger_rows(world: World) -> list[Row]:
    return private(world.system.host, "triager", "main", "SELECT * FROM ledger ORDER BY rowid")


async def settled(world: World) -> list[tuple[str, str, str | None]]:
    """What the agent has heard: request, status, and whether the call ran."""
    return [(one["request_id"], one["status"], one["retried"]) for one in (await world.report())["settled"]]


def statements(logs: Iterable[Mapping[str, Any]], turn: str) -> list[int]:
    """Of the app's database, by each turn of that name; turns without any are not logged."""
    return [line["statements"] for line in logs if line["event"] == "turn" and line["what"] == turn]
