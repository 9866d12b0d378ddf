"""From a file to the list of stale tickets; and what a fresh database starts with."""

from datetime import UTC, datetime, timedelta
from io import BufferedReader, BytesIO

import pytest
from sqlalchemy import select
from support import OPERATOR

from app.domain import Status
from app.importer.file import read
from app.importer.keep import ForeignTicket, keep
from app.importer.row import BadRow
from app.runtime.instants import to_text
from app.services import tickets
from app.services.ticket_list import TicketQuery, listing
from db import fixtures
from db.engine import Database
from db.schema import EventRow

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 9, 7, 31, tzinfo=UTC)
A_WEEK_AGO = to_text(NOW - timedelta(days=7))
FILE = b"""\xef\xbb\xbfexternal_id,title,body,created_at,closed_at,comments\r
a#1,Seven days and a minute,"two\r
lines",2026-03-01T23:30:00-08:00,,2\r
a#2,Seven days less a minute,,2026-03-02T07:32:00Z,,0\r
a#3,No such day,,2026-02-30T00:00:00Z,,\r
a#4,=1+1,,2026-01-01T00:00:00Z,2026-02-01T00:00:00+05:45,\r
"""


def parse(content: bytes) -> tuple[list[ForeignTicket], list[BadRow]]:
    rows = list(read(BufferedReader(BytesIO(content)), NOW))
    return [r for r in rows if isinstance(r, ForeignTicket)], [r for r in rows if isinstance(r, BadRow)]


async def test_an_imported_ticket_is_as_old_as_it_was_where_it_began(database: Database) -> None:
    good, bad = parse(FILE)
    await database.write(keep, good, by=OPERATOR, now=NOW)
    stale = await database.read(listing, TicketQuery(status=Status.OPEN, inactive_since=A_WEEK_AGO))
    assert [ticket.external_id for ticket in stale.tickets] == ["a#1"]
    assert (stale.open, stale.stale, [row.line for row in bad]) == (2, 1, [5])
    assert (await database.read(tickets.show, stale.tickets[0].id)).body == "two\r\nlines"


async def test_what_was_closed_there_is_closed_here_and_nobody_spoke_for_us(database: Database) -> None:
    await database.write(keep, parse(FILE)[0], by=OPERATOR, now=NOW)
    page = await database.read(listing, TicketQuery())
    assert [(ticket.title, ticket.closed_at, ticket.last_speaker) for ticket in page.tickets] == [
        ("Seven days and a minute", None, "none"),
        ("Seven days less a minute", None, "requester"),
        ("=1+1", "2026-01-31T18:15:00.000Z", "none"),
    ]


async def test_every_imported_ticket_has_one_event_however_often_the_file_comes(database: Database) -> None:
    for _ in range(2):
        await database.write(keep, parse(FILE)[0], by=OPERATOR, now=NOW)
    subjects = await database.read(lambda session: sorted(session.scalars(select(EventRow.subject))))
    assert subjects == ["ticket:1", "ticket:2", "ticket:3"]


async def test_a_fresh_database_has_two_stale_tickets_that_an_operator_answered(database: Database) -> None:
    assert await database.write(fixtures.plant, NOW)
    assert not await database.write(fixtures.plant, NOW)
    page = await database.read(listing, TicketQuery(inactive_since=A_WEEK_AGO, status=Status.OPEN))
    assert [(ticket.id, ticket.last_speaker) for ticket in page.tickets] == [(1, "operator"), (2, "operator")]
    assert (page.open, page.stale) == (3, 2)
    for ticket in page.tickets:
        [reply] = (await database.read(tickets.show, ticket.id)).comments
        assert (reply.public, reply.author_name, reply.created_at) == (True, "Ops On-Call", ticket.last_activity_at)
