"""What a list costs grows with what it shows, not with what is stored. Counted in SQLite's instructions, not timed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from sqlalchemy.orm import Session
from support import ago
from support_scale import YESTERDAY, stored

from app.domain import COUNT_MAX, Sort, Status
from app.runtime import invocation
from app.schemas import TicketPage
from app.services.ticket_list import TicketQuery, listing
from db.engine import Database, SqliteDatabase

pytestmark = pytest.mark.anyio

STALE = TicketQuery(status=Status.OPEN, inactive_since=ago(7), sort=Sort.QUIETEST, limit=100)
ALL_STALE = structs.replace(STALE, inactive_since=ago(0))
AMID_EQUALS = structs.replace(ALL_STALE, after=f"{YESTERDAY}_500000")
LOOK_AGAIN = structs.replace(STALE, ids=",".join(str(number) for number in range(5, 505, 5)))
CONSOLE = TicketQuery(sort=Sort.NEWEST, limit=40, stale_since=ago(7))
FLAT = 1.5


@pytest.fixture(scope="module")
def large(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """1,000,000 tickets: 200,000 open, 2,000 of them stale."""
    path = tmp_path_factory.mktemp("large") / "triager.sqlite"
    database = SqliteDatabase(stored(path, migrated, stored=1_000_000, step=5, stale=2_000))
    yield database
    database.close()
    shutil.rmtree(path.parent)


@pytest.fixture(scope="module")
def small(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """1,000 tickets, all of them open and stale."""
    path = tmp_path_factory.mktemp("small") / "triager.sqlite"
    database = SqliteDatabase(stored(path, migrated, stored=1_000, step=1, stale=1_000))
    yield database
    database.close()


def steps(session: Session, query: TicketQuery) -> tuple[int, TicketPage]:
    """How many instructions of SQLite's virtual machine the list takes."""
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1

    connection = driver(session)
    connection.set_progress_handler(step, 1)
    try:
        page = listing(session, query)
    finally:
        connection.set_progress_handler(None, 0)
    return taken, page


def plan(session: Session, query: TicketQuery) -> list[str]:
    """How SQLite goes about the very statement that the list runs."""
    statements: list[str] = []
    connection = driver(session)
    connection.set_trace_callback(statements.append)
    listing(session, query)
    connection.set_trace_callback(None)
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statements[-1]}")]


def driver(session: Session) -> Any:
    return session.connection().connection.dbapi_connection


@pytest.mark.parametrize(
    ("query", "beside"),
    [
        (STALE, STALE),
        (structs.replace(STALE, after="2026-01-01T00:16:40.000Z_5000"), STALE),
        (ALL_STALE, STALE),
        (AMID_EQUALS, STALE),
        (LOOK_AGAIN, LOOK_AGAIN),
        (CONSOLE, CONSOLE),
        (TicketQuery(status=Status.OPEN), TicketQuery(status=Status.OPEN)),
    ],
)
async def test_a_page_of_a_million_tickets_takes_the_work_of_a_page_of_a_thousand(
    small: Database, large: Database, query: TicketQuery, beside: TicketQuery
) -> None:
    few, expected = await small.read(steps, beside)
    with invocation.begin("a" * 32) as spent:
        many, page = await large.read(steps, query)
    assert len(page.tickets) == len(expected.tickets) == query.limit
    assert (spent.statements, many <= FLAT * few) == (1, True), (few, many)


@pytest.mark.parametrize("query", [STALE, structs.replace(STALE, after="2026-01-01T00:16:40.000Z_5000"), AMID_EQUALS])
async def test_the_sweeps_list_reads_ranges_of_one_index_and_sorts_nothing(large: Database, query: TicketQuery) -> None:
    how = await large.read(plan, query)
    reads = [line for line in how if " tickets" in line]
    assert len(reads) == (4 if query.after else 3)  # two counts, and the page in one range or two
    assert all("INDEX tickets_by_activity (status=?" in line for line in reads)
    assert not [line for line in how if "TEMP B-TREE" in line]
    if query.after:
        assert any("(status=? AND last_activity_at=? AND id>?)" in line for line in reads)


async def test_counting_stops_at_the_limit(large: Database) -> None:
    page = await large.read(listing, structs.replace(ALL_STALE, limit=1))
    assert (page.open, page.stale) == (COUNT_MAX, COUNT_MAX)
