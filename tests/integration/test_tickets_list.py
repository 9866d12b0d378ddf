"""Which tickets a list shows, and what it counts."""

from collections.abc import AsyncIterator

import pytest
from msgspec import structs
from sqlalchemy import insert
from sqlalchemy.orm import Session
from support import a_ticket, ago

from app.domain import COUNT_MAX, Category, Sort, Status
from app.runtime import invocation
from app.schemas import TicketPage
from app.services.ticket_list import TicketQuery, listing
from db.engine import Database
from db.schema import TicketRow

pytestmark = pytest.mark.anyio


def ids(page: TicketPage) -> list[int]:
    return [ticket.id for ticket in page.tickets]


async def paged(database: Database, query: TicketQuery) -> AsyncIterator[TicketPage]:
    while True:
        page = await database.read(listing, query)
        yield page
        if page.next is None:
            return
        query = structs.replace(query, after=page.next)


async def test_an_empty_list_still_counts(database: Database) -> None:
    await database.write(a_ticket)
    page = await database.read(listing, TicketQuery(status=Status.CLOSED, inactive_since=ago(7)))
    assert page == TicketPage(tickets=[], next=None, open=1, stale=1)
    assert await database.read(listing, TicketQuery(after="1")) == TicketPage(tickets=[], next=None, open=1, stale=0)


async def test_a_list_is_one_statement(database: Database) -> None:
    await database.write(a_ticket, labels=("a", "b"))
    with invocation.begin("a" * 32) as spent:
        await database.read(listing, TicketQuery(status=Status.OPEN, inactive_since=ago(7), label="a", text="login"))
    assert spent.statements == 1


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (TicketQuery(), [1, 2, 3]),
        (TicketQuery(status=Status.OPEN), [1, 3]),
        (TicketQuery(category=Category.BUG), [2]),
        (TicketQuery(assignee="Bo"), [3]),
        (TicketQuery(label="urgent"), [1, 2]),
        (TicketQuery(label="urgent", status=Status.OPEN), [1]),
        (TicketQuery(text="LOGIN"), [1]),
        (TicketQuery(text="in the body"), [2]),
        (TicketQuery(text="100%"), [3]),
        (TicketQuery(text="0%"), [3]),
        (TicketQuery(text="1_0"), []),
        (TicketQuery(text="\\"), [3]),
        (TicketQuery(inactive_since=ago(7)), [1, 2]),
        (TicketQuery(inactive_since=ago(12)), []),  # active at that instant
        (TicketQuery(sort=Sort.NEWEST), [3, 2, 1]),
        (TicketQuery(after="1"), [2, 3]),
        (TicketQuery(after="3", sort=Sort.NEWEST), [2, 1]),
    ],
)
async def test_a_list_shows_what_is_asked_for(database: Database, query: TicketQuery, found: list[int]) -> None:
    await database.write(a_ticket, labels=("urgent", "web"))
    await database.write(
        a_ticket, status="closed", title="x", body="Words in the body", category="bug", labels=("urgent",)
    )
    await database.write(a_ticket, title="100% of C:\\", assignee="Bo", age_days=1)
    assert ids(await database.read(listing, query)) == found


async def test_the_counts_are_of_all_open_tickets_whatever_the_filters(database: Database) -> None:
    for age_days in (12, 8, 6):
        await database.write(a_ticket, age_days=age_days)
    await database.write(a_ticket, status="closed")
    page = await database.read(listing, TicketQuery(assignee="nobody", inactive_since=ago(7)))
    assert (page.open, page.stale) == (3, 2)


@pytest.mark.parametrize(
    ("sort", "pages"),
    [
        (Sort.ID, [[1, 2, 3], [4, 5, 6], [7]]),
        (Sort.NEWEST, [[7, 6, 5], [4, 3, 2], [1]]),
        (Sort.QUIETEST, [[3, 6, 2], [5, 1, 4], [7]]),
    ],
)
async def test_pages_follow_each_other_without_gap_or_repeat(
    database: Database, sort: Sort, pages: list[list[int]]
) -> None:
    for number in range(7):
        await database.write(a_ticket, age_days=10 + number % 3)
    assert [ids(page) async for page in paged(database, TicketQuery(limit=3, sort=sort))] == pages


async def test_a_full_last_page_has_no_next(database: Database) -> None:
    for _ in range(3):
        await database.write(a_ticket)
    assert (await database.read(listing, TicketQuery(limit=3))).next is None


async def test_labels_come_sorted_with_every_ticket(database: Database) -> None:
    await database.write(a_ticket, labels=("web", 'a "quoted" one', "Straße"))
    await database.write(a_ticket)
    page = await database.read(listing, TicketQuery())
    assert [ticket.labels for ticket in page.tickets] == [["Straße", 'a "quoted" one', "web"], []]


async def test_counting_stops_at_the_limit(database: Database) -> None:
    def many(session: Session) -> None:
        at = {"created_at": ago(9), "updated_at": ago(9), "last_activity_at": ago(9)}
        session.execute(insert(TicketRow), [{"title": "x", **at} for _ in range(COUNT_MAX + 5)])

    await database.write(many)
    page = await database.read(listing, TicketQuery(limit=1, inactive_since=ago(7)))
    assert (page.open, page.stale) == (COUNT_MAX, COUNT_MAX)
