"""Page after page: in order, nothing twice and nothing left out, whatever happens between two of them."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from random import Random
from typing import Any

import pytest
from msgspec import structs
from sqlalchemy import delete
from sqlalchemy.orm import Session
from support import OPERATOR, a_ticket, ago, an_api

from app.domain import Conflict, Sort, Status
from app.schemas import AddComment, TicketPage
from app.services import tickets
from app.services.ticket_list import TicketQuery, listing
from db.engine import Database
from db.schema import TicketRow

pytestmark = pytest.mark.anyio

STALE = TicketQuery(status=Status.OPEN, inactive_since=ago(7), sort=Sort.QUIETEST, limit=4)
PLACE = f"{ago(9)}_5"


def ids(page: TicketPage) -> list[int]:
    return [ticket.id for ticket in page.tickets]


async def paged(database: Database, query: TicketQuery) -> AsyncIterator[TicketPage]:
    while True:
        page = await database.read(listing, query)
        yield page
        if page.next is None:
            return
        query = structs.replace(query, after=page.next)


def commented(session: Session, ticket_id: int, now: datetime) -> None:
    tickets.comment(session, ticket_id, AddComment(body="Any news?"), by=OPERATOR, now=now)


def closed(session: Session, ticket_id: int, now: datetime) -> None:
    version = tickets.show(session, ticket_id).ticket.version
    tickets.close(session, ticket_id, version, by=OPERATOR, now=now)


def reopened(session: Session, ticket_id: int, now: datetime) -> None:
    tickets.reopen(session, ticket_id, by=OPERATOR, now=now)


def gone(session: Session, ticket_id: int, now: datetime) -> None:
    session.execute(delete(TicketRow).where(TicketRow.id == ticket_id))


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


async def test_tickets_of_one_instant_come_by_id_across_pages(database: Database) -> None:
    for _ in range(10):
        await database.write(a_ticket)
    assert [ids(page) async for page in paged(database, STALE)] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]


@pytest.mark.parametrize("happens", [commented, closed, gone])
@pytest.mark.parametrize(("sort", "pages"), [(Sort.ID, [4, 5, 6]), (Sort.NEWEST, [2, 1]), (Sort.QUIETEST, [4, 5, 6])])
async def test_a_cursor_outlives_the_ticket_it_was_taken_from(
    database: Database, now: datetime, sort: Sort, pages: list[int], happens: Callable[..., None]
) -> None:
    for _ in range(6):
        await database.write(a_ticket)
    limit = 4 if sort is Sort.NEWEST else 3
    page = await database.read(listing, TicketQuery(sort=sort, limit=limit))
    await database.write(happens, page.tickets[-1].id, now)
    beyond = await database.read(listing, TicketQuery(sort=sort, inactive_since=ago(7), after=page.next))
    assert ids(beyond) == pages


@pytest.mark.parametrize("seed", range(6))
async def test_each_stale_ticket_comes_once_while_others_are_answered_closed_and_reopened(
    database: Database, now: datetime, seed: int
) -> None:
    chance = Random(seed)  # noqa: S311
    for _ in range(40):
        status = chance.choice(["open", "open", "closed"])
        await database.write(a_ticket, age_days=chance.choice([3, 8, 9, 9, 12]), status=status)
    whole = await database.read(listing, structs.replace(STALE, limit=100))
    stirred: set[int] = set()
    seen: list[int] = []
    async for page in paged(database, STALE):
        seen += ids(page)
        for ticket_id in chance.sample(range(1, 41), 4):
            await _stir(database, chance, ticket_id, now)
            stirred.add(ticket_id)
    assert seen == [ticket_id for ticket_id in ids(whole) if ticket_id in seen]  # in that order, none twice
    assert not set(ids(whole)) - stirred - set(seen)
    assert len(seen) > 2 * STALE.limit


async def _stir(database: Database, chance: Random, ticket_id: int, now: datetime) -> None:
    try:
        await database.write(chance.choice([commented, closed, reopened]), ticket_id, now)
    except Conflict:  # closed, or open, already
        await database.write(commented, ticket_id, now)


@pytest.mark.parametrize(
    ("sort", "after"),
    [
        *((sort, after) for sort in ("id", "newest") for after in (PLACE, "9007199254740992")),
        *(
            ("quietest", after)
            for after in ("5", f"{ago(9)}_9007199254740992", f"{ago(9)}_", "_5", ago(9), f" {PLACE}")
        ),
        *(("quietest", f"{PLACE}{more}") for more in ("\n", ",6", "_7", "\u0667", "' OR 1=1 --")),
    ],
)
async def test_a_cursor_that_is_no_place_in_the_order_is_refused(database: Database, sort: str, after: str) -> None:
    await database.write(a_ticket)
    answer = await an_api(database).get("/tickets", params={"sort": sort, "after": after})
    said: dict[str, Any] = answer.json()
    assert answer.status_code == 422
    assert "Nothing was executed" in said["detail"]
    assert said["errors"][0]["key"] == "after" if "errors" in said else said["detail"].startswith("after is")
    assert "tickets" not in said


async def test_a_cursor_goes_over_the_wire_and_back(database: Database) -> None:
    for _ in range(3):
        await database.write(a_ticket)
    api = an_api(database)
    query = {"sort": "quietest", "status": "open", "inactive_since": ago(7)}
    first = (await api.get("/tickets", params=query | {"limit": 2})).json()
    rest = (await api.get("/tickets", params=query | {"after": first["next"]})).json()
    assert [ticket["id"] for ticket in first["tickets"] + rest["tickets"]] == [1, 2, 3]
    assert rest["next"] is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "007",
        "7.0",
        "1e3",
        "7,",
        ",7",
        "7,,8",
        "7, 8",
        "7;8",
        "7\n",
        "\u0667",
        "[7]",
        "9007199254740992",
        "7," * 100 + "7",
    ],
)
async def test_ids_that_are_not_plain_are_refused(database: Database, text: str) -> None:
    answer = await an_api(database).get("/tickets", params={"ids": text})
    assert answer.status_code == 422
    assert "ids" in answer.text
