"""What a page of the console costs grows with what it shows, not with what is stored. In SQLite's instructions."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import event
from support_console import House, opened
from support_scale import asked, stored

pytestmark = pytest.mark.anyio

FLAT = 1.3
AGENT = "/console/agents/triager"
PAGES = {  # each with the statements it may run
    "/": 3,
    "/?after=2026-03-10T00:00:00.000Z_0": 3,
    "/?tab=approved": 3,
    "/?tab=rejected": 3,
    "/?tab=expired": 3,
    "/?tab=cancelled": 3,
    "/?q=%23390": 3,
    "/?done=request-7,request-390&as=approve": 4,
    "/console/tickets": 3,
    "/console/tickets?status=any&sort=quietest": 3,
    "/console/tickets/390": 5,
    "/console/tickets/new": 2,
    AGENT: 3,
    f"{AGENT}/sweeps": 2,
    f"{AGENT}/sweeps/1": 2,
    f"{AGENT}/plan": 2,
    "/console/sessions": 3,
    "/console/changes": 2,
}


class Counted:
    """A house that counts the instructions of SQLite's virtual machine, those of its agents' own files left out."""

    def __init__(self, house: House) -> None:
        self.house, self.taken = house, 0
        event.listen(house.system.db._engine, "checkout", self._count)

    def _count(self, connection: sqlite3.Connection, *_: object) -> None:
        connection.set_progress_handler(self._step, 1)

    def _step(self) -> None:
        self.taken += 1

    async def page(self, path: str) -> tuple[int, int]:
        """The statements and the instructions that it takes."""
        self.taken = 0
        await self.house.page(path)
        return self.house.spent, self.taken


@pytest.fixture
def houses(migrated: Path, tmp_path: Path, now: datetime) -> Iterator[list[Counted]]:
    """One with 100,000 tickets and 10,000 requests, beside one with 1,000 and 400."""
    with ExitStack() as open_ones:
        made = []
        for tickets, requests in ((1_000, 400), (100_000, 10_000)):
            folder = tmp_path / str(tickets)
            folder.mkdir()
            asked(stored(folder / "triager.sqlite", migrated, stored=tickets, step=1, stale=tickets), requests)
            made.append(Counted(open_ones.enter_context(opened(folder, now))))
        yield made


async def test_every_page_takes_the_same_work_with_a_hundred_thousand_tickets(houses: list[Counted]) -> None:
    for one in houses:
        await one.house.sweep()
    for path, statements in PAGES.items():
        (spent, few), (same, many) = [await one.page(path) for one in houses]
        assert (spent, same, many <= FLAT * few) == (statements, statements, True), (path, few, many)
