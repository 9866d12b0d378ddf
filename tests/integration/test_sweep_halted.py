"""A brake in the middle of a sweep: it stops before its next call; once let go, the books balance."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, select

from app.runtime import steps
from app.runtime.errors import Halted
from app.runtime.steps import Step
from app.runtime.tools.brakes import Brake
from db.schema import ApprovalRow, TicketRow
from tests.support import ago
from tests.support_brakes import resume
from tests.support_sweep import adds_up, asked, kept_verdicts, queue, reasons, swept, words
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

NOTE = "a leak"


def halted_after(monkeypatch: pytest.MonkeyPatch, questions: int, halt: Callable[[], None]) -> None:
    left = [questions]

    def hook(step: Step) -> None:
        if step is Step.ASKED:
            left[0] -= 1
            if left[0] == 0:
                halt()

    monkeypatch.setattr(steps, "_hook", [hook])


def by_its_row(world: World) -> Callable[[], None]:
    """As another process does it: no host has heard of it yet."""

    def halt() -> None:
        with closing(sqlite3.connect(world.system.settings.database)) as connection, connection:
            row = ("*", "Ops On-Call", ago(0, world.clock.at), NOTE)
            connection.execute('INSERT INTO brakes (agent, "by", at, note) VALUES (?, ?, ?, ?)', row)

    return halt


def by_both(world: World) -> Callable[[], None]:
    """As this process does it: its host follows at once."""
    halt_row = by_its_row(world)

    def halt() -> None:
        halt_row()
        world.system.host._brakes.replace([Brake("*", "Ops On-Call", ago(0), NOTE)])

    return halt


@pytest.mark.parametrize("halt_by", [by_its_row, by_both])
async def test_a_sweep_that_is_halted_stops_before_its_next_call_and_the_rest_follows_once(
    tmp_path: Path,
    migrated: Path,
    monkeypatch: pytest.MonkeyPatch,
    halt_by: Callable[[World], Callable[[], None]],
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 8)
        halted_after(monkeypatch, 3, halt_by(world))
        summary = await world.sweep()
        assert (summary["stale"], summary["asked"], summary["refused"], summary["deferred"]) == (8, 3, 0, 5)
        assert adds_up(summary)
        assert await asked(world) == [1, 2, 3]
        assert list(words(world).values()) == ["asked"] * 3 + ["later"] * 5
        assert all("is halted by Ops On-Call" in reasons(world)[ticket] for ticket in range(4, 9))
        monkeypatch.undo()

        await world.system.host.follow_brakes()
        assert await world.run_due(hours=2) == 0
        assert len(kept_verdicts(world)) == 1

        await resume(world)
        await world.run_due()
        assert await asked(world) == list(range(1, 9))
        for request in await world.pending():
            await world.approve(request)
        assert await swept(world) == []
        assert await the_books(world) == {"closed once": 8, "used": 8}
        assert await world.pending() == []


async def the_books(world: World) -> dict[str, int]:
    """Tickets that a request of their own has closed, and requests that are used."""
    closed = select(func.count(TicketRow.changed_by_request.distinct())).where(TicketRow.version == 2)
    used = select(func.count()).select_from(ApprovalRow).where(ApprovalRow.ended == "used")
    counts = await world.system.db.read(lambda s: (s.scalar(closed), s.scalar(used)))
    return dict(zip(("closed once", "used"), counts, strict=True))


async def test_a_halted_agent_takes_nothing_back_and_its_first_sweep_after_does(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 2)
        await swept(world)
        first, second = await world.pending()
        by_its_row(world)()
        await world.client.patch("/tickets/1", json={"title": "Other words"})
        with pytest.raises(Halted):
            await world.sweep()
        assert (await world.approval(first)).ended is None
        await resume(world)
        await swept(world)
        assert [(await world.approval(one)).ended for one in (first, second)] == ["cancelled", None]
