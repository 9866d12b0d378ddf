"""Which tickets a list shows, and what it counts."""

import pytest
from support import a_ticket, ago

from app.domain import Category, Sort, Status
from app.runtime import invocation
from app.schemas import TicketPage
from app.services.ticket_list import TicketQuery, listing
from db.engine import Database

pytestmark = pytest.mark.anyio


def ids(page: TicketPage) -> list[int]:
    return [ticket.id for ticket in page.tickets]


async def test_an_empty_list_still_counts(database: Database) -> None:
    await database.write(a_ticket)
    page = await database.read(listing, TicketQuery(status=Status.CLOSED, inactive_since=ago(7)))
    assert page == TicketPage(tickets=[], next=None, open=1, stale=1)
    assert await database.read(listing, TicketQuery(after="1")) == TicketPage(tickets=[], next=None, open=1, stale=None)


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
        (TicketQuery(text="body the IN"), [2]),
        (TicketQuery(text="100%"), [3]),
        (TicketQuery(text="login", label="web", assignee="Bo"), []),
        (TicketQuery(label="urgent", category=Category.BUG, sort=Sort.QUIETEST), [2]),
        (TicketQuery(label="urgent", status=Status.OPEN, sort=Sort.QUIETEST), [1]),
        (TicketQuery(label="urgent", ids="2,3"), [2]),
        (TicketQuery(inactive_since=ago(7)), [1, 2]),
        (TicketQuery(inactive_since=ago(12)), []),  # active at that instant
        (TicketQuery(sort=Sort.NEWEST), [3, 2, 1]),
        (TicketQuery(sort=Sort.QUIETEST), [1, 2, 3]),
        (TicketQuery(ids="3,1,99,1"), [1, 3]),
        (TicketQuery(ids="3,1,2", status=Status.OPEN, sort=Sort.NEWEST), [3, 1]),
        (TicketQuery(ids="3,1,2", status=Status.OPEN, inactive_since=ago(7), sort=Sort.QUIETEST), [1]),
        (TicketQuery(ids="1,2,3", after=f"{ago(12)}_1", sort=Sort.QUIETEST), [2, 3]),
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


async def test_labels_come_sorted_with_every_ticket(database: Database) -> None:
    await database.write(a_ticket, labels=("web", 'a "quoted" one', "Straße"))
    await database.write(a_ticket)
    page = await database.read(listing, TicketQuery())
    assert [ticket.labels for ticket in page.tickets] == [["Straße", 'a "quoted" one', "web"], []]
