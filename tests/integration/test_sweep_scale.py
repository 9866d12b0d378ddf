"""A sweep over a million stored tickets does the work of one over a thousand: counted, not timed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, update
from structlog.testing import capture_logs

from db.schema import TicketRow
from tests.support import ago
from tests.support_ledger import statements
from tests.support_scale import stored
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

FLAT = 1.5


@pytest.fixture(scope="module")
def large(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """1,000,000 tickets: 200,000 open, 2,000 of them stale."""
    path = tmp_path_factory.mktemp("large") / "triager.sqlite"
    yield stored(path, migrated, stored=1_000_000, step=5, stale=2_000)
    shutil.rmtree(path.parent)


@pytest.fixture
def small(migrated: Path, tmp_path: Path) -> Path:
    """1,000 tickets, all of them open and stale."""
    return stored(tmp_path / "small.sqlite", migrated, stored=1_000, step=1, stale=1_000)


class Work:
    """The instructions that SQLite's virtual machine carries out on the app's database."""

    def __init__(self, world: World) -> None:
        self.steps = 0
        event.listen(world.system.db._engine, "checkout", self._watch)

    def _watch(self, connection: Any, *_: Any) -> None:
        connection.set_progress_handler(self._step, 1)

    def _step(self) -> None:
        self.steps += 1


async def four_sweeps(folder: Path, tickets: Path) -> tuple[list[int], list[int], list[int]]:
    """Of each the statements, SQLite's instructions, and the questions asked.

    The first asks its ten; the second begins behind them and looks again at what waits; the third has a moot question
    to take back; the fourth reads as far as a sweep does, as nobody there is to be asked about.
    """
    async with a_world(folder, tickets) as world:
        work, steps, asked = Work(world), [], []
        with capture_logs() as logs:
            for number in range(4):
                if number == 2:
                    answer = await world.client.get("/tickets?status=open&sort=quietest&limit=1")
                    quietest = answer.json()["tickets"][0]["id"]
                    await world.client.patch(f"/tickets/{quietest}", json={"title": "Other words"})
                if number == 3:
                    await world.system.db.write(nobody_is_answered)
                world.clock.advance(hours=1)
                before = work.steps
                summary = await world.sweep()
                assert summary["error"] is None
                steps.append(work.steps - before)
                asked.append(summary["asked"])
    shutil.rmtree(folder)  # it is large
    return statements(logs, "sweep"), steps, asked


def nobody_is_answered(session: Any) -> None:
    stale = (TicketRow.status == "open", TicketRow.last_activity_at < ago(7))
    session.execute(update(TicketRow).where(*stale).values(last_speaker="requester"))


async def test_a_sweep_over_a_million_tickets_takes_the_work_of_one_over_a_thousand(
    small: Path, large: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    few = await four_sweeps(tmp_path_factory.mktemp("few"), small)
    many = await four_sweeps(tmp_path_factory.mktemp("many"), large)
    assert few[2] == many[2] == [10, 10, 10, 0]
    assert many[0] == few[0]
    assert few[0][0] == 21
    for less, more in zip(few[1], many[1], strict=True):
        assert more <= FLAT * less, (few[1], many[1])
