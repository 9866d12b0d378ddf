"""What is found by words, in the list of tickets: on every door the same."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, text, update
from sqlalchemy.orm import Session
from support import a_ticket, ago, an_api
from support_scale import stored

from app import migrations
from app.domain import Category, Invalid, Sort, Status
from app.runtime import invocation
from app.services.search import WORDS_MAX
from app.services.ticket_list import LOOK, TicketQuery, listing
from db.engine import Database, SqliteDatabase
from db.schema import TicketRow

pytestmark = pytest.mark.anyio


def found(session: Session, words: str, **more: Any) -> list[int]:
    return [ticket.id for ticket in listing(session, TicketQuery(text=words, **more)).tickets]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("login", [1, 3]),
        ("LOGIN", [1, 3]),
        ("log", [1, 3]),
        ("login page", [1]),
        ("page login", [1]),
        ("login safari", [1]),  # one of them in the title, one in the body
        ("ogin", []),  # in the middle of a word
        ("login zebra", []),
        ("cafe", [2]),
        ("CAFÉ", [2]),
        ("straße", [2]),
        ("e-mail", [2]),
        ("mail e", [2]),
        ("mail-e", []),
        ("l", [1, 3]),
        ("  login  ", [1, 3]),
        ("#2", [2]),
        ("#9", []),
        ("# 2", []),
        ("500", [1]),
    ],
)
async def test_a_ticket_is_found_by_the_beginnings_of_its_words(database: Database, words: str, ids: list[int]) -> None:
    await database.write(a_ticket, title="Login page 500s", body="In Safari only.")
    await database.write(a_ticket, title="Café in the Straße", body="No e-mail comes")
    await database.write(a_ticket, title="x", body="cannot log in\nLOGIN fails")
    assert await database.read(found, words) == ids


@pytest.mark.parametrize(
    "words",
    [
        *('"', '""', "'", "login OR page", "NOT login", "title:login", "login*", "(login", "^login", "NEAR(a b)"),
        *("-login", "{title body}: x", "a AND", "%", "***", "\\", "login\tpage", "\u202e", "💥", "\ud7ff", "+"),
    ],
)
async def test_nothing_that_is_typed_is_syntax(database: Database, words: str) -> None:
    await database.write(a_ticket, title='He said "login OR page", NOT title:login')
    assert await database.read(found, words) in ([], [1])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=25))
async def test_a_ticket_is_found_by_its_own_title(database: Database, words: str) -> None:
    await database.write(lambda session: session.execute(delete(TicketRow)) and None)
    ticket_id = await database.write(a_ticket, title=f"login {words}")
    assert await database.read(found, f"login {words}") == [ticket_id]


async def test_what_was_changed_or_is_gone_is_no_longer_found_by_its_old_words(database: Database) -> None:
    for title in ("apple", "banana", "cherry"):
        await database.write(a_ticket, title=title, body="fruit")

    def change(session: Session) -> None:
        session.execute(update(TicketRow).where(TicketRow.id == 1).values(title="plum"))
        session.execute(update(TicketRow).where(TicketRow.id == 2).values(body="", status="closed"))
        session.execute(delete(TicketRow).where(TicketRow.id == 3))
        session.execute(text("INSERT INTO ticket_words (ticket_words, rank) VALUES ('integrity-check', 1)"))

    await database.write(change)
    for words, ids in (("apple", []), ("plum", [1]), ("fruit", [1]), ("banana", [2]), ("cherry", [])):
        assert await database.read(found, words) == ids, words


def test_the_migration_finds_tickets_that_were_there_before(migrated: Path, tmp_path: Path) -> None:
    path = tmp_path / "triager.sqlite"
    shutil.copy(migrated, path)
    migrations.downgrade(path, "0004")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO tickets (title, created_at, updated_at, last_activity_at) VALUES ('Older', ?, ?, ?)",
            [ago(1)] * 3,
        )
    migrations.upgrade(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT rowid FROM ticket_words WHERE ticket_words MATCH 'old*'").fetchall() == [(1,)]
    assert migrations.drift(path) == []


async def test_more_words_than_are_looked_for_are_refused(database: Database) -> None:
    await database.write(a_ticket)
    many = " ".join(f"w{number}" for number in range(WORDS_MAX + 1))
    with pytest.raises(Invalid, match=rf"names {WORDS_MAX + 1} words; at most {WORDS_MAX}"):
        await database.read(found, many)
    assert await database.read(found, "login " * 40) == [1]  # one word


async def test_words_and_an_order_by_activity_are_refused_over_http(database: Database) -> None:
    await database.write(a_ticket)
    answer = await an_api(database).get("/tickets", params={"text": "login", "sort": "quietest"})
    assert (answer.status_code, answer.json()["detail"].partition(".")[0]) == (422, "What has these words comes by id")
    answer = await an_api(database).get("/tickets", params={"text": "login", "sort": "newest"})
    assert [ticket["id"] for ticket in answer.json()["tickets"]] == [1]


@pytest.fixture(scope="module")
def large(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """100,000 tickets with the same word, every fifth of them open; one has a person, a category and a label."""
    path = stored(
        tmp_path_factory.mktemp("words") / "triager.sqlite",
        migrated,
        stored=100_000,
        step=5,
        stale=100,
        title="printer",
    )
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE tickets SET assignee = 'Bo', category = 'bug' WHERE id = 50000")
        connection.execute("INSERT INTO labels VALUES (50000, 'vip')")
        connection.execute("UPDATE tickets SET assignee = 'Ana' WHERE id % 2")
    database = SqliteDatabase(path)
    yield database
    database.close()


def steps(session: Session, query: TicketQuery) -> tuple[int, int, str | None]:
    """Instructions of SQLite's machine, how many tickets came, and the next."""
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1

    connection: Any = session.connection().connection.dbapi_connection
    connection.set_progress_handler(step, 1)
    page = listing(session, query)
    connection.set_progress_handler(None, 0)
    return taken, len(page.tickets), page.next


@pytest.mark.parametrize(
    ("more", "many"),
    [
        ({"text": "pr"}, 50),
        ({"text": "printer"}, 50),
        ({"text": "printer", "sort": Sort.NEWEST}, 50),
        ({"text": "printer", "sort": Sort.NEWEST, "after": "50000"}, 50),
        ({"text": "p printer", "status": Status.OPEN}, 50),
        ({"text": "printer", "assignee": "Bo"}, 0),  # a needle: the search goes on at its next
        ({"assignee": "Ana"}, 50),
        ({"assignee": "Ana", "sort": Sort.NEWEST, "after": "50000", "status": Status.OPEN}, 50),
        ({"assignee": "Ana", "category": Category.BUG}, 0),
        ({"assignee": "Bo"}, 1),
        ({"assignee": "Bo", "sort": Sort.QUIETEST}, 0),
        ({"category": Category.BUG, "status": Status.CLOSED}, 0),
        ({"category": Category.BUG, "status": Status.OPEN}, 1),
        ({"label": "vip"}, 1),
        ({"label": "vip", "sort": Sort.NEWEST}, 1),
        ({"sort": Sort.QUIETEST}, 50),
        ({"ids": "50000", "label": "vip", "assignee": "Bo"}, 1),
    ],
)
async def test_no_list_costs_more_than_looking_at_some_tickets(
    large: Database, more: dict[str, Any], many: int
) -> None:
    with invocation.begin("a" * 32) as spent:
        taken, came, _ = await large.read(steps, TicketQuery(**more))
    assert (came, spent.statements) == (many, 1)
    assert taken < 60 * LOOK, taken


@pytest.mark.parametrize("sort", list(Sort))
async def test_a_needle_is_found_by_going_on(large: Database, sort: Sort) -> None:
    query = {"text": "printer"} if sort is not Sort.QUIETEST else {"status": Status.OPEN}
    after, ids, pages = None, [], 0
    while pages == 0 or after:
        page = await large.read(listing, TicketQuery(**query, label="vip", assignee="Bo", sort=sort, after=after))
        ids += [ticket.id for ticket in page.tickets]
        after, pages = page.next, pages + 1
    assert ids == [50_000]
    assert 1 < pages <= 100_000 / LOOK + 1
