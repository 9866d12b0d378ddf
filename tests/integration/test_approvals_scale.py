"""What a page of requests costs grows with what it shows, not with what is stored. In SQLite's instructions."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from sqlalchemy.orm import Session
from support import NOW, OPERATOR
from support_scale import asked, stored

from app.runtime import invocation
from app.schemas import Tab
from app.services.agent_requests import requests_of
from app.services.approval_list import LOOKED_THROUGH, Queue, named, queue
from app.services.approvals import answer_many, listing
from app.services.frame import frame
from db.engine import Database, SqliteDatabase

pytestmark = pytest.mark.anyio

FLAT = 1.3


def furnished(path: Path, migrated: Path, tickets: int, approvals: int) -> SqliteDatabase:
    stored(path, migrated, stored=tickets, step=1, stale=tickets)
    return SqliteDatabase(asked(path, approvals))


@pytest.fixture(scope="module")
def large(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = furnished(tmp_path_factory.mktemp("large") / "triager.sqlite", migrated, 100_000, 10_000)
    yield database
    database.close()


@pytest.fixture(scope="module")
def small(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = furnished(tmp_path_factory.mktemp("small") / "triager.sqlite", migrated, 400, 400)
    yield database
    database.close()


def driver(session: Session) -> Any:
    return session.connection().connection.dbapi_connection


def steps(session: Session, work: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[int, Any]:
    """How many instructions of SQLite's virtual machine it takes, and what it gives."""
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1

    connection = driver(session)
    connection.set_progress_handler(step, 1)
    try:
        result = work(session, *args, **kwargs)
    finally:
        connection.set_progress_handler(None, 0)
    return taken, result


async def middle(database: Database, tab: Tab) -> str | None:
    """A place far down in the tab: of the waiting ones, the second page."""
    count = 20 if tab == "waiting" else (await database.read(_rows)) // 10
    return (await database.read(queue, tab, NOW, limit=count)).next


def _rows(session: Session) -> int:
    return driver(session).execute("SELECT count(*) FROM approvals").fetchone()[0]


@pytest.mark.parametrize("tab", get_args(Tab))
@pytest.mark.parametrize("deep", [False, True])
async def test_a_page_of_ten_thousand_takes_the_work_of_a_page_of_four_hundred(
    small: Database, large: Database, tab: Tab, deep: bool
) -> None:
    places = [await middle(database, tab) if deep else None for database in (small, large)]
    few, expected = await small.read(steps, queue, tab, NOW, after=places[0])
    with invocation.begin("a" * 32) as spent:
        many, page = await large.read(steps, queue, tab, NOW, after=places[1])
    assert len(page.cards) == len(expected.cards) == 20
    assert all(card.ticket for card in page.cards)
    assert (spent.statements, many <= FLAT * few) == (1, True), (few, many)


@pytest.mark.parametrize("tab", get_args(Tab))
async def test_the_requests_of_one_ticket_are_found_by_it(small: Database, large: Database, tab: Tab) -> None:
    number = {"approved": 100, "rejected": 101, "expired": 102, "cancelled": 103, "waiting": 0}[tab]
    few, expected = await small.read(steps, queue, tab, NOW, search=str(number or 350))
    many, page = await large.read(steps, queue, tab, NOW, search=f"#{number or 9_950}")
    assert len(page.cards) == len(expected.cards) == 1
    assert many <= FLAT * few, (few, many)


async def test_words_are_looked_for_in_a_thousand_at_a_time(large: Database) -> None:
    """What nobody asked takes as much as a page of a thousand, and leads on to the next thousand."""
    thousand, _ = await large.read(steps, queue, "rejected", NOW, search="closes", limit=LOOKED_THROUGH - 1)
    many, page = await large.read(steps, queue, "rejected", NOW, search="no such words")
    assert (page.cards, many <= thousand) == ([], True)
    rest = await large.read(queue, "rejected", NOW, search="no such words", after=page.next)
    assert (rest.cards, rest.next) == ([], None)
    found: Queue = await large.read(queue, "rejected", NOW, search="ticket 9001")
    assert [card.request.subject for card in found.cards] == ["ticket:9001"]


@pytest.mark.parametrize("tab", get_args(Tab))
async def test_a_page_is_ranges_of_indexes_in_their_order(large: Database, tab: Tab) -> None:
    statements: list[str] = []
    how: list[str] = []

    def plan(session: Session) -> None:
        connection = driver(session)
        connection.set_trace_callback(statements.append)
        queue(session, tab, NOW, after="2026-03-05T00:00:00.000Z_400")
        connection.set_trace_callback(None)
        how.extend(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statements[-1]}"))

    await large.read(plan)
    by = {"waiting": "approvals_unended (expires_at>?)", "approved": "approvals_agreed (decided_at<?)"}
    wanted = by.get(tab, "approvals_ended (ended=? AND ended_at<?)")
    assert [line for line in how if wanted in line], how
    scanned = [line for line in how if line.startswith("SCAN") and "approvals USING" not in line]
    assert not [line for line in scanned if "SCAN approvals" in line or "tickets" in line]
    assert "SEARCH tickets USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN" in how
    assert "SEARCH approvals USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN" in how


async def test_what_is_declined_is_found_by_its_index_in_the_order_of_asking(large: Database) -> None:
    statements: list[str] = []
    plans: list[list[str]] = []

    def plan(session: Session) -> None:
        connection = driver(session)
        connection.set_trace_callback(statements.append)
        listing(session, NOW)
        requests_of(session, "agent:triager:main", ["request-1"], NOW)
        connection.set_trace_callback(None)
        explained = [connection.execute(f"EXPLAIN QUERY PLAN {statement}") for statement in statements]
        plans.extend([row[3] for row in rows] for rows in explained)

    await large.read(plan)
    for how in plans[-2:]:
        assert "SCAN approvals USING INDEX approvals_remembered" in how
        assert "SCAN approvals" not in how
        assert how[-1] == "USE TEMP B-TREE FOR ORDER BY", how  # of what is shown
        assert how.count(how[-1]) == 1, how


async def test_the_requests_at_a_glance_take_the_same_work(small: Database, large: Database) -> None:
    (few, expected), (many, page) = [await database.read(steps, listing, NOW) for database in (small, large)]
    assert len(page.declined) == len(expected.declined) == 20
    assert many <= FLAT * few, (few, many)


async def test_fifty_answers_at_once_take_the_same_work(small: Database, large: Database) -> None:
    given: dict[str, Any] = {"by": OPERATOR, "now": NOW, "reason": None, "use_ttl_s": 60}
    taken = []
    for database, last in ((small, 400), (large, 10_000)):
        seen = [(f"request-{number}", "mark") for number in range(last - 59, last - 9)]
        done, items = await database.write(steps, answer_many, "approved", seen, **given)
        assert all(item.ok for item in items)
        taken.append(done)
    assert taken[1] <= FLAT * taken[0], taken


async def test_what_stands_around_a_page_takes_the_same_work(small: Database, large: Database) -> None:
    (few, _), (many, _) = [await database.read(steps, frame, NOW) for database in (small, large)]
    assert many <= FLAT * few, (few, many)


async def test_requests_are_named_by_their_ids(small: Database, large: Database) -> None:
    ids = ["request-7", "nobody", "request-3"]
    (few, _), (many, cards) = [await database.read(steps, named, ids, NOW) for database in (small, large)]
    assert [card.request.id for card in cards] == ["request-7", "request-3"]
    assert many <= FLAT * few, (few, many)
