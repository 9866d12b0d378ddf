"""Lists of tickets. One statement gives the page and the counts; it is built once for each set of filters in use."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from msgspec import Struct, json
from sqlalchemy import ColumnElement, Select, Table, and_, bindparam, exists, func, or_, select, true
from sqlalchemy.orm import Session

from app.domain import COUNT_MAX, Category, Status
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
}


class TicketQuery(Struct, frozen=True, kw_only=True):
    """Which tickets. `after` is the last id of the page before; `newest` turns the order by id around."""

    status: Status | None = None
    category: Category | None = None
    assignee: str | None = None
    label: str | None = None
    text: str | None = None  # in the title or the body
    inactive_since: str | None = None  # an instant: last active before it
    stale_since: str | None = None  # counts as stale what was last active before it, and hides nothing
    after: int | None = None
    limit: int = 50
    newest: bool = False


def listing(session: Session, query: TicketQuery) -> TicketPage:
    """`open` counts every open ticket; `stale` those inactive since `inactive_since` (or `stale_since`)."""
    given = {name: value for name in FILTERS if (value := getattr(query, name)) is not None}
    if query.inactive_since:
        instant("inactive_since", query.inactive_since)
    if query.text is not None:
        given["text"] = f"%{_escaped(query.text)}%"
    statement = _statement(tuple(given), query.after is not None, query.newest)
    bound = {"inactive_since": query.stale_since, "after": query.after, "rows": query.limit + 1} | given
    rows = session.execute(statement, bound).all()
    found = [ticket_out(row[2:]) for row in rows[: query.limit] if row[2] is not None]
    more = len(rows) > query.limit
    return TicketPage(tickets=found, next=found[-1].id if more else None, open=rows[0][0], stale=rows[0][1])


def ticket_out(row: Sequence[Any]) -> TicketOut:
    """A row of COLUMNS. Its words stay plain text: they equal their enum's members, and JSON wants text."""
    return TicketOut(*(*row[:LABELS_AT], _labels(row[LABELS_AT]), *row[LABELS_AT + 1 :]))


def _labels(array: str) -> list[str]:
    return [] if array == "[]" else sorted(json.decode(array))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


@lru_cache
def _statement(given: tuple[str, ...], after: bool, newest: bool) -> Select[Any]:
    """The page beside its counts: the counts are one row, so they come even when the page is empty."""
    wanted = [FILTERS[name] for name in given]
    if after:
        wanted.append(tickets.c.id < bindparam("after") if newest else tickets.c.id > bindparam("after"))
    page = (
        select(*COLUMNS)
        .where(*wanted)
        .order_by(tickets.c.id.desc() if newest else tickets.c.id)
        .limit(bindparam("rows"))
        .subquery("page")
    )
    is_open = tickets.c.status == Status.OPEN.value
    counts = select(
        _count(is_open).label("open"), _count(and_(is_open, FILTERS["inactive_since"])).label("stale")
    ).subquery("counts")
    return (
        select(counts, page)
        .select_from(counts.outerjoin(page, true()))
        .order_by(page.c.id.desc() if newest else page.c.id)
    )


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    some = select(tickets.c.id).where(condition).limit(COUNT_MAX).subquery()
    return select(func.count()).select_from(some).scalar_subquery()
