"""The requests to people, tab by tab, each with its ticket as it is now: one statement a page.

A tab is a range of an index, in its order, so a page costs the same however many requests are stored. What has not
ended is few, for no caller may have many such requests: only among those is anything passed over.
"""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, cast

from msgspec import Struct
from sqlalchemy import Integer, Row, Select, String, Table, select, text
from sqlalchemy.orm import Session

from app.domain import MAX_ID, Invalid
from app.runtime.instants import to_text
from app.schemas import Card, Tab, TicketNow
from app.services.approval_rows import COLUMNS, approval_out
from app.services.cards import card
from app.services.checked import instant
from db.schema import HOLDS_GOOD, ApprovalRow, TicketRow

LOOKED_THROUGH = 1_000  # requests, for the words of one search; the next page looks on from there
WORDS_MAX, SHOWN_MAX = 10, 100
LAST = ("~", 0)  # its instant comes after every other
NUMBER = re.compile(r"#?([1-9][0-9]{0,15})")
approvals, tickets = cast("Table", ApprovalRow.__table__), cast("Table", TicketRow.__table__)
TICKET = [tickets.c[name].label(f"ticket_{name}") for name in TicketNow.__struct_fields__]
ITS_TICKET = text("tickets.id = iif(subject GLOB 'ticket:[1-9]*', CAST(substr(subject, 8) AS INTEGER), NULL)")


class Range(NamedTuple):
    """Requests in the order of `place`, and where that is the same in the order of asking, as the index has them."""

    by: str
    place: str
    condition: str


WAITING = Range("approvals_unended", "expires_at", "ended IS NULL AND decision IS NULL")  # by its end: the oldest first
CARRIED_OUT = f"{HOLDS_GOOD} AND (ended IS NOT NULL OR claim_id IS NOT NULL OR use_by > :now)"
LAPSED = "ended IS NULL AND claim_id IS NULL AND coalesce(use_by, expires_at) <= :now"
RANGES: dict[Tab, tuple[Range, ...]] = {
    "waiting": (WAITING,),
    "approved": (Range("approvals_agreed", "decided_at", f"decision = 'approved' AND {CARRIED_OUT}"),),
    "rejected": (Range("approvals_ended", "ended_at", "ended = 'rejected'"),),
    "expired": (
        Range("approvals_ended", "ended_at", "ended = 'expired'"),
        Range("approvals_unended", "coalesce(use_by, expires_at)", LAPSED),
    ),
    "cancelled": (Range("approvals_ended", "ended_at", "ended = 'cancelled' AND fingerprint <> ''"),),  # no tombstones
}
SHOWN = """
UNION ALL SELECT rowid, expires_at, 0 FROM approvals WHERE id IN (SELECT value FROM json_each(:shown))
"""


class Queue(Struct):
    """A page of a tab. `next` is the `after` of the following one, null on the last."""

    cards: list[Card]
    next: str | None


def named(session: Session, request_ids: Sequence[str], now: datetime) -> list[Card]:
    """Those of these requests that there are, in this order."""
    these = text("approvals.id IN (SELECT value FROM json_each(:ids))")
    query = select(*COLUMNS, *TICKET).select_from(approvals.outerjoin(tickets, ITS_TICKET)).where(these)
    rows = session.execute(query, {"ids": json.dumps(list(request_ids))}).all()
    return sorted((_card(row, now) for row in rows), key=lambda one: request_ids.index(one.request.id))


def queue(
    session: Session,
    tab: Tab,
    now: datetime,
    *,
    search: str | None = None,
    after: str | None = None,
    shown: Sequence[str] = (),
    limit: int = 20,
) -> Queue:
    """Those that wait, the oldest first; of any other tab those that came to it last. Raises Invalid.

    `search` is a ticket's number, or words of the sentence that was asked. `shown` are requests that a page shows
    already: they stay in their places, answered or not.
    """
    ticket = NUMBER.fullmatch((search or "").strip())
    words = [] if ticket else (search or "").split()[:WORDS_MAX]
    place, number = _place(tab, after, now)
    window = LOOKED_THROUGH if words else limit + 1
    bound = {"now": to_text(now), "place": place, "number": number, "window": window, "last": window - 1}
    bound |= {"rows": limit + 1, "shown": json.dumps(shown[:SHOWN_MAX]), "subject": ticket and f"ticket:{ticket[1]}"}
    bound |= {f"word{number}": word for number, word in enumerate(words)}
    statement, names = _statement(tab, len(words), ticket is not None, tab == "waiting" and bool(shown))
    rows = session.execute(statement, {name: bound[name] for name in names}).all()
    found = [row for row in rows if row.id is not None]
    fresh = [row for row in found if row.fresh]
    extra = fresh[limit].id if len(fresh) > limit else None
    cards = [_card(row, now) for row in found if row.id != extra or row.id in shown]
    if extra:
        return Queue(cards, f"{fresh[limit - 1].place}_{fresh[limit - 1].number}")
    return Queue(cards, rows[0].looked_to if words else None)


def _place(tab: Tab, after: str | None, now: datetime) -> tuple[str, int]:
    """Where the page begins, in the order of the tab."""
    start = (to_text(now), MAX_ID) if tab == "waiting" else LAST
    if after is None:
        return start
    at, _, number = after.partition("_")
    if not (number.isascii() and number.isdigit() and int(number) <= MAX_ID):
        raise Invalid(
            'after is no place in the list. Nothing was executed. Send the "next" of a page, or leave it out.'
        )
    place = (instant("after", at), int(number))
    return max(start, place) if tab == "waiting" else place


@lru_cache
def _statement(tab: Tab, words: int, of_ticket: bool, with_shown: bool) -> tuple[Select[Any], frozenset[str]]:
    """The page's ids and places, then the rows that belong to them. A row of nulls comes even when there are none.

    With it, the names of what it binds.
    """
    direction, beyond = ("", ">") if tab == "waiting" else ("DESC", "<")
    order = f"ORDER BY place {direction}, number {direction}"
    ranges = " UNION ALL ".join(f"SELECT * FROM ({_range(one, order, beyond, of_ticket)})" for one in RANGES[tab])  # noqa: S608 (constant text)
    summary = "lower(json_extract(preview, '$.summary'))"  # no LIKE: D1 takes no pattern of more than 50 bytes
    said = " AND ".join(["true", *(f"instr({summary}, lower(:word{number}))" for number in range(words))])
    page = text(f"""
WITH looked AS MATERIALIZED ({ranges} {order} LIMIT :window),
  found AS (SELECT * FROM (SELECT number, place, 1 AS fresh FROM looked WHERE {said} {order} LIMIT :rows)
            {SHOWN if with_shown else ""}),
  ends AS (SELECT (SELECT place || '_' || number FROM looked {order} LIMIT 1 OFFSET :last) AS looked_to)
SELECT number, place, max(fresh) AS fresh, looked_to FROM ends LEFT JOIN found GROUP BY number
""")  # noqa: S608 (constant text)
    places = page.columns(number=Integer, place=String, fresh=Integer, looked_to=String).subquery("page")
    statement = (
        select(*places.c, *COLUMNS, *TICKET)
        .select_from(places.outerjoin(approvals, text("approvals.rowid = number")).outerjoin(tickets, ITS_TICKET))
        .order_by(text(order.removeprefix("ORDER BY ")))
    )
    return statement, frozenset(statement.compile().params)


def _range(one: Range, order: str, beyond: str, of_ticket: bool) -> str:
    by, subject = ("approvals_of_subject", "AND subject = :subject") if of_ticket else (one.by, "")
    return f"""
SELECT rowid AS number, {one.place} AS place, preview FROM approvals INDEXED BY {by}
WHERE {one.condition} {subject} AND ({one.place}, rowid) {beyond} (:place, :number) {order} LIMIT :window
"""  # noqa: S608 (constant text)


def _card(row: Row[Any], now: datetime) -> Card:
    ticket = [getattr(row, column.name) for column in TICKET]
    return card(approval_out(row, now), TicketNow(*ticket) if row.ticket_id is not None else None, now)
