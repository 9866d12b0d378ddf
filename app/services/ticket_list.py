"""Lists of tickets. One statement gives the page and the counts; it is built once for each set of filters in use."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from msgspec import Struct, json
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    Table,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.orm import Session

from app.domain import COUNT_MAX, MAX_ID, Category, Invalid, Sort, Status
from app.schemas import TicketOut, TicketPage
from app.services.checked import instant
from db.schema import LabelRow, TicketRow

tickets = cast("Table", TicketRow.__table__)
labels = cast("Table", LabelRow.__table__)

LABELS = (
    select(func.json_group_array(labels.c.label)).where(labels.c.ticket_id == tickets.c.id).correlate(tickets)
).scalar_subquery()

# In the order of TicketOut's fields, which `ticket_out` relies on.
LABELS_AT = TicketOut.__struct_fields__.index("labels")
COLUMNS = [LABELS.label("labels") if name == "labels" else tickets.c[name] for name in TicketOut.__struct_fields__]

FILTERS: dict[str, ColumnElement[bool]] = {
    "status": tickets.c.status == bindparam("status"),
    "category": tickets.c.category == bindparam("category"),
    "assignee": tickets.c.assignee == bindparam("assignee"),
    "label": exists().where(labels.c.label == bindparam("label"), labels.c.ticket_id == tickets.c.id),
    "text": or_(
        tickets.c.title.like(bindparam("text"), escape="\\"), tickets.c.body.like(bindparam("text"), escape="\\")
    ),
    "inactive_since": tickets.c.last_activity_at < bindparam("inactive_since"),
    "ids": tickets.c.id.in_(select(func.json_each(bindparam("ids")).table_valued("value").c.value)),
}
AFTER: BindParameter[int] = bindparam("after")
AFTER_AT: BindParameter[str] = bindparam("after_at")
# What follows a cursor, as one range of an index after another, and the order.
# A row value, (last_activity_at, id) > …, would say the same in one, but SQLite begins it at the instant: where an
# import gave 100,000 tickets one instant, each page would pass over all of them. "unlikely" names the index to take.
SORTS: dict[Sort, tuple[Sequence[ColumnElement[bool]], Sequence[ColumnElement[Any]]]] = {
    Sort.ID: ([tickets.c.id > AFTER], [tickets.c.id]),
    Sort.NEWEST: ([tickets.c.id < AFTER], [tickets.c.id.desc()]),
    Sort.QUIETEST: (
        [
            and_(func.unlikely(tickets.c.last_activity_at == AFTER_AT), tickets.c.id > AFTER),
            tickets.c.last_activity_at > AFTER_AT,
        ],
        [tickets.c.last_activity_at, tickets.c.id],
    ),
}


class TicketQuery(Struct, frozen=True, kw_only=True):
    """Which tickets, in which order, from where. `after` is the `next` of a page in the same order."""

    status: Status | None = None
    category: Category | None = None
    assignee: str | None = None
    label: str | None = None
    text: str | None = None  # in the title or the body
    inactive_since: str | None = None  # an instant: last active before it
    stale_since: str | None = None  # counts as stale what was last active before it, and hides nothing
    ids: str | None = None  # at most 100, with commas between
    sort: Sort = Sort.ID
    after: str | None = None
    limit: int = 50


def listing(session: Session, query: TicketQuery) -> TicketPage:
    """`open` counts every open ticket; `stale` those inactive since `inactive_since` (or `stale_since`), if given."""
    given = {name: value for name in FILTERS if (value := getattr(query, name)) is not None}
    if query.inactive_since:
        instant("inactive_since", query.inactive_since)
    if query.text is not None:
        given["text"] = f"%{_escaped(query.text)}%"
    if query.ids is not None:
        given["ids"] = _known(query.ids)
    statement = _statement(tuple(given), query.sort, query.after is not None)
    bound = {"inactive_since": query.stale_since, "rows": query.limit + 1} | _place(query) | given
    rows = session.execute(statement, bound).all()
    found = [ticket_out(row[2:]) for row in rows[: query.limit] if row[2] is not None]
    more = len(rows) > query.limit
    last = _cursor(found[-1], query.sort) if more else None
    stale = rows[0][1] if query.inactive_since or query.stale_since else None
    return TicketPage(tickets=found, next=last, open=rows[0][0], stale=stale)


def ticket_out(row: Sequence[Any]) -> TicketOut:
    """A row of COLUMNS. Its words stay plain text: they equal their enum's members, and JSON wants text."""
    return TicketOut(*(*row[:LABELS_AT], _labels(row[LABELS_AT]), *row[LABELS_AT + 1 :]))


def _cursor(ticket: TicketOut, sort: Sort) -> str:
    """The ticket's place in the order, in itself: it stays right when the ticket moves or goes."""
    return f"{ticket.last_activity_at}_{ticket.id}" if sort is Sort.QUIETEST else str(ticket.id)


def _place(query: TicketQuery) -> dict[str, Any]:
    if query.after is None:
        return {}
    at, _, ticket_id = query.after.rpartition("_")
    if bool(at) is not (query.sort is Sort.QUIETEST) or int(ticket_id) > MAX_ID:
        raise Invalid(
            f'after is "{query.after}", which is no place in the order by {query.sort}. Nothing was executed. '
            "Send the next of a page in the same sort, or leave it out to begin."
        )
    return {"after_at": at, "after": int(ticket_id)}


def _known(ids: str) -> str:
    """The ids as JSON."""
    if max(map(int, ids.split(","))) > MAX_ID:
        raise Invalid(f"ids goes up to {MAX_ID}. Nothing was executed. Send ids that you have seen.")
    return f"[{ids}]"


def _labels(array: str) -> list[str]:
    return [] if array == "[]" else sorted(json.decode(array))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


@lru_cache
def _statement(given: tuple[str, ...], sort: Sort, continued: bool) -> Select[Any]:
    """The page beside its counts: the counts are one row, so they come even when the page is empty."""
    ranges, order = SORTS[sort]
    wanted = {name: FILTERS[name] for name in given}
    if {"ids", "status"} <= wanted.keys():  # the ids are few, whatever else is asked: no range is read to find them
        wanted["status"] = func.likely(wanted["status"])
    parts = [select(*COLUMNS).where(*wanted.values(), beyond) for beyond in (ranges if continued else [true()])]
    page = union_all(*parts).order_by(*order).limit(bindparam("rows")).subquery("page")
    is_open = tickets.c.status == Status.OPEN.value
    counts = select(
        _count(is_open).label("open"), _count(and_(is_open, FILTERS["inactive_since"])).label("stale")
    ).subquery("counts")
    return select(counts, page).select_from(counts.outerjoin(page, true()))  # one row's join keeps the page's order


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    some = select(tickets.c.id).where(condition).limit(COUNT_MAX).subquery()
    return select(func.count()).select_from(some).scalar_subquery()
