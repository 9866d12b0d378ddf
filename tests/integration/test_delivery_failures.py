"""A hook that throws, a route that breaks, a database that is away: the call waits, and everything else goes on."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.agents.triager import Triager
from app.domain import Unavailable
from app.runtime.durable.agent import Settled
from app.services.approval_store import DatabaseApprovalStore
from config.agents import AGENTS
from tests.support import a_ticket, ago
from tests.support_host import private
from tests.support_ledger import a_parked_close, ledger_rows, parked_closes, settled
from tests.world import World, a_world

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[Any]]:
    """Failures are logged with their traces, which takes seconds to print."""
    with capture_logs() as logs:
        yield logs


class Listening(Triager):
    """Its hook writes down what it hears, and throws while it is told to."""

    heard: tuple[Settled, ...] = ()
    throws_for: frozenset[str] = frozenset()

    async def on_tool_approval_settled(self, event: Settled) -> None:
        type(self).heard += (event,)
        await super().on_tool_approval_settled(event)
        if event.request_id in self.throws_for:
            raise RuntimeError("the hook failed")


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> type[Listening]:
    monkeypatch.setitem(AGENTS["triager"], "module", __name__)
    monkeypatch.setitem(AGENTS["triager"], "class", "Listening")
    monkeypatch.setattr(Listening, "heard", ())
    monkeypatch.setattr(Listening, "throws_for", frozenset())
    return Listening


async def test_the_hook_hears_the_call_and_the_persons_words(
    tmp_path: Path, migrated: Path, listening: type[Listening]
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        world.clock.advance(hours=1)
        await world.reject(request, until_at=ago(-30))
        arguments = {"ticket_id": ticket, "version": 1}
        asked, decided = ago(0), "2026-03-09T13:00:00.000Z"
        verdict = Settled(request, "tickets_close", "rejected", arguments, None, None, ago(-30), asked, decided)
        assert listening.heard == (verdict,)


async def test_a_hook_that_throws_stops_no_other_call_and_its_state_change_is_undone(
    tmp_path: Path, migrated: Path, listening: type[Listening]
) -> None:
    async with a_world(tmp_path, migrated) as world:
        _, [first, second] = await parked_closes(world, 2)
        listening.throws_for = frozenset([first])
        for request in (first, second):
            await world.approve(request, wake=False)
        await world.run_due(seconds=31)
        assert await settled(world) == [(second, "approved", "ok")]
        assert [row["request_id"] for row in ledger_rows(world)] == [first]
        listening.throws_for = frozenset()
        await world.run_due(seconds=60)
        assert await settled(world) == [(second, "approved", "ok"), (first, "approved", "ok")]
        assert [event.request_id for event in listening.heard] == [first, second, first]


async def test_the_hooks_state_and_the_calls_end_are_written_together_or_not_at_all(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        _, request = await a_parked_close(world)
        in_private = partial(private, world.system.host, "triager", "main")
        in_private("CREATE TRIGGER stuck BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'disk'); END")
        await world.reject(request)
        assert in_private("SELECT * FROM state WHERE value LIKE ?", f"%{request}%") == []
        in_private("DROP TRIGGER stuck")
        await world.run_due(seconds=60)
        assert await settled(world) == [(request, "rejected", None)]


async def test_a_route_that_breaks_keeps_the_call_and_tries_again_later(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await sql(
            world, "CREATE TRIGGER broken BEFORE UPDATE ON tickets BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END"
        )
        await world.approve(request)
        for seconds, checks in ((0, 1), (29, 1), (1, 2), (60, 3)):
            await world.run_due(seconds=seconds)
            assert [row["checks"] for row in ledger_rows(world)] == [checks]
        assert (await world.approval(request)).ended is None
        assert await settled(world) == []
        await sql(world, "DROP TRIGGER broken")
        await world.run_due(days=3)  # long past its use_by: it was spent in time
        assert (await world.ticket(ticket)).status == "closed"
        assert await settled(world) == [(request, "approved", "ok")]


async def test_the_first_failure_is_tried_again_soon_however_long_the_answer_took(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        _, request = await a_parked_close(world)
        for _ in range(8):
            await world.run_due(hours=1)
        await sql(world, "CREATE TRIGGER broken BEFORE UPDATE ON tickets BEGIN SELECT RAISE(ABORT, 'disk'); END")
        await world.approve(request)
        [row] = ledger_rows(world)
        assert (row["checks"], row["next_check_at"]) == (1, "2026-03-09T20:00:30.000Z")


async def sql(world: World, statement: str) -> None:
    await world.system.db.write(lambda session: session.connection().exec_driver_sql(statement) and None)


async def test_while_the_approvals_cannot_be_read_the_calls_wait(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await world.approve(request, wake=False)
        await sql(world, "ALTER TABLE approvals RENAME TO away")
        assert [await world.run_due(seconds=seconds) for seconds in (31, 1, 1, 3, 1)] == [1, 0, 1, 0, 1]
        assert len(ledger_rows(world)) == 1
        await sql(world, "ALTER TABLE away RENAME TO approvals")
        await world.run_due(seconds=60)
        assert (await world.ticket(ticket)).status == "closed"
        assert await settled(world) == [(request, "approved", "ok")]


async def test_a_yes_that_met_a_lock_after_a_long_wait_is_tried_again_within_a_minute(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await world.system.db.write(a_ticket)
        await world.sweep()
        for _ in range(8):  # nobody answers for hours, and the looks become rare
            await world.run_due(hours=1)
        [request] = await world.pending()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DatabaseApprovalStore, "consume", _busy)
            await world.approve(request)
        assert (await world.ticket(1)).status == "open"
        await world.run_due(seconds=31)
        assert (await world.ticket(1)).status == "closed"


async def _busy(*_: object) -> bool:
    raise Unavailable("The database is busy.")
