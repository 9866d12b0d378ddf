"""Looking at what sweeps decided, and a queue for them to look at."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import insert, select

from app.runtime.tools import pipeline
from app.runtime.tools.results import Outcome
from db.schema import ApprovalRow, TicketRow
from tests.support import a_ticket, ago
from tests.support_host import private
from tests.world import World

QUIET = 400  # days: the first ticket of a queue is quiet this long, and each next one a day less


async def queue(world: World, first: int, last: int, **columns: Any) -> list[int]:
    """Stale tickets with these numbers, the lowest quiet the longest."""
    numbers = list(range(first, last + 1))
    for number in numbers:
        await world.system.db.write(a_ticket, id=number, age_days=QUIET - number, **columns)
    return numbers


async def bulk(world: World, ages_days: list[float], **columns: Any) -> None:
    """Many stale tickets at once, quiet for so many days each."""
    rows = [
        {"title": "x", "last_speaker": "operator"}
        | dict.fromkeys(("created_at", "updated_at", "last_activity_at"), ago(age, world.clock.at))
        | columns
        for age in ages_days
    ]
    await world.system.db.write(lambda s: s.execute(insert(TicketRow), rows) and None)


async def asked(world: World) -> list[int]:
    """The ticket of every question that was ever put, in the order of asking."""
    query = select(ApprovalRow.input).where(ApprovalRow.fingerprint != "").order_by(ApprovalRow.requested_at)
    return await world.system.db.read(lambda s: [given["ticket_id"] for given in s.scalars(query)])


async def swept(world: World, hours: float = 1) -> list[int]:
    """The tickets that a sweep asks about, so many hours from now."""
    before = len(await asked(world))
    world.clock.advance(hours=hours)
    await world.sweep()
    return sorted((await asked(world))[before:])


def kept_verdicts(world: World) -> list[list[dict[str, Any]]]:
    """Of every run that is kept, its verdicts, the oldest run first."""
    rows = private(world.system.host, "triager", "main", "SELECT details FROM run_details ORDER BY run_id")
    return [json.loads(row["details"]) for row in rows]


def words(world: World) -> dict[int, str]:
    """What the last sweep decided, by ticket."""
    return {one["ticket_id"]: one["verdict"] for one in kept_verdicts(world)[-1]}


def reasons(world: World) -> dict[int, str]:
    return {one["ticket_id"]: one["reason"] for one in kept_verdicts(world)[-1]}


def adds_up(summary: dict[str, Any]) -> bool:
    done = sum(summary[name] for name in ("asked", "closed", "refused", "deferred"))
    return bool(summary["stale"] == done)


def route_fails(
    monkeypatch: pytest.MonkeyPatch, when: Callable[[str, dict[str, Any]], bool], status: int = 503
) -> None:
    """The route behind a tool answers with this status when called so."""
    real = pipeline.dispatch

    async def dispatch(app: Any, tool: Any, arguments: dict[str, Any], call: Any) -> Outcome:
        if when(tool.name, arguments):
            return Outcome(status, {"detail": "Out of order."})
        return await real(app, tool, arguments, call)

    monkeypatch.setattr(pipeline, "dispatch", dispatch)
