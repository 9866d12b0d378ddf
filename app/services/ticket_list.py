"""Lists of tickets. One statement gives the page and the counts; it is built once for each set of filters in use.

No list costs more than looking at `LOOK` tickets. So a page may hold fewer than were asked for, or none, and still have
a `next`: there the search goes on.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, cast

from msgspec import Meta, Struct, json
from sqlalchemy import (
    CTE,
    BindParameter,
    ColumnElement,
    Select,
    Table,
    and_,
    bindparam,
    case,
    exists,
    func,
    null,
    select,
    true,
    union_all,
)
from sqlalchemy.orm import Session

from app.domain import COUNT_MAX, MAX_ID, NAME_MAX, TITLE_MAX, Category, Invalid, Sort, Status
from app.schemas import CURSOR, ID_TEXT, TicketOut, TicketPage
from app.services.checked import instant
from app.services.search import MATCHES, expression
from db.schema import WORDS, LabelRow, TicketRow

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
    "inactive_since": tickets.c.last_activity_at < bindparam("inactive_since"),
    "ids": tickets.c.id.in_(select(func.json_each(bindparam("ids")).table_valued("value", name="each").c.value)),
    "number": tickets.c.id == bindparam("number"),
}
FEW = {"ids", "number"}  # with one of them, all that is asked for is looked at
LOOK = 2_000  # tickets
# Where one index has the ids of all that fit, in their order: the first of these that is asked for is gone through.
SEARCHED: dict[str, tuple[ColumnElement[int], ColumnElement[bool]]] = {
    "text": (WORDS.c.rowid, MATCHES),
    "label": (labels.c.ticket_id, labels.c.label == bindparam("label")),
    "assignee": (tickets.c.id, FILTERS["assignee"]),
    "category": (tickets.c.id, FILTERS["category"]),
}
NUMBER = re.compile(rf"#({ID_TEXT})")
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
    assignee: Annotated[str, Meta(max_length=NAME_MAX)] | None = None
    label: Annotated[str, Meta(max_length=NAME_MAX)] | None = None
    text: Annotated[str, Meta(max_length=TITLE_MAX)] | None = None  # words, see search.py; "#41" is that ticket
    inactive_since: str | None = None  # an instant: last active before it
    stale_since: str | None = None  # counts as stale what was last active before it, and hides nothing
    ids: str | None = None  # at most 100, with commas between
    sort: Sort = Sort.ID
    after: Annotated[str, Meta(pattern=CURSOR)] | None = None
    limit: int = 50


def listing(session: Session, query: TicketQuery) -> TicketPage:
    """`open` counts every open ticket; `stale` those inactive since `inactive_since` (or `stale_since`), if given."""
    if query.inactive_since:
        instant("inactive_since", query.inactive_since)
    given = _given(query)
    statement = _statement(tuple(given), query.sort, query.after is not None)
    bound = {"inactive_since": query.stale_since, "rows": query.limit + 1, "look": LOOK} | _place(query) | given
    rows = session.execute(statement, bound).all()
    counts, page = rows[0][:3], [row[3:] for row in rows if row[3] is not None]
    found = [ticket_out(row) for row in page[: query.limit]]
    last = _cursor(found[-1], query.sort) if len(page) > query.limit else counts[2] and str(counts[2])
    stale = counts[1] if query.inactive_since or query.stale_since else None
    return TicketPage(tickets=found, next=last, open=counts[0], stale=stale)


def _given(query: TicketQuery) -> dict[str, Any]:
    """The filters in use, with what each compares with."""
    given = {name: value for name in (*FILTERS, "text") if (value := getattr(query, name, None)) is not None}
    if query.ids is not None:
        given["ids"] = _known(query.ids)
    if query.text is None:
        return given
    if number := NUMBER.fullmatch(query.text):
        return {name: value for name, value in given.items() if name != "text"} | {"number": int(number[1])}
    if query.sort is Sort.QUIETEST:
        raise Invalid("What has these words comes by id. Nothing was executed. Leave out sort, or say newest.")
    return given | {"text": expression(query.text)}


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


@lru_cache
def _statement(given: tuple[str, ...], sort: Sort, continued: bool) -> Select[Any]:
    """The page beside its counts: the counts are one row, so they come even when the page is empty."""
    wanted = {name: FILTERS[name] for name in given if name in FILTERS}
    if "text" in given or (SEARCHED.keys() & given and not FEW.intersection(given)):
        among = _among(given, sort, continued)
        parts = [select(*COLUMNS).where(tickets.c.id.in_(select(among.c.id)), *map(func.likely, wanted.values()))]
        last = _last(among, sort)
    else:
        parts, last = _ranges(select(*COLUMNS), wanted, sort, continued), null()
    page = union_all(*parts).order_by(*SORTS[sort][1]).limit(bindparam("rows")).subquery("page")
    is_open = tickets.c.status == Status.OPEN.value
    stale = and_(is_open, FILTERS["inactive_since"])
    counts = select(_count(is_open).label("open"), _count(stale).label("stale"), last.label("last")).subquery("counts")
    return select(counts, page).select_from(counts.outerjoin(page, true()))  # one row's join keeps the page's order


def _ranges(
    columns: Select[Any], wanted: dict[str, ColumnElement[bool]], sort: Sort, continued: bool
) -> list[Select[Any]]:
    """What is wanted, as ranges of one index that need no sorting."""
    if FEW & wanted.keys():  # whatever else is asked: no range is read to find them
        wanted = {name: one if name in FEW else func.likely(one) for name, one in wanted.items()}
        statuses: Sequence[ColumnElement[bool]] = [true()]
    elif sort is Sort.QUIETEST and "status" not in wanted:  # which the index of activity begins with
        statuses = [tickets.c.status == status.value for status in Status]
    else:
        statuses = [true()]
    ranges = SORTS[sort][0] if continued else [true()]
    return [columns.where(*wanted.values(), status, beyond) for status in statuses for beyond in ranges]


def _among(given: tuple[str, ...], sort: Sort, continued: bool) -> CTE:
    """The next tickets in an index, at most `look`: the page's are among them."""
    if sort is Sort.QUIETEST:
        wanted = {name: FILTERS[name] for name in given if name in ("status", "inactive_since")}
        columns = select(tickets.c.id, tickets.c.last_activity_at)
        ranges = union_all(*_ranges(columns, wanted, sort, continued)).order_by(*SORTS[sort][1])
        return ranges.limit(bindparam("look")).cte("among").prefix_with("MATERIALIZED")
    id_, fits = SEARCHED[next(name for name in SEARCHED if name in given)]
    beyond, order = (id_ > AFTER, id_) if sort is Sort.ID else (id_ < AFTER, id_.desc())
    found = select(id_.label("id")).where(fits, beyond if continued else true()).order_by(order)
    return found.limit(bindparam("look")).cte("among").prefix_with("MATERIALIZED")


def _last(among: CTE, sort: Sort) -> ColumnElement[Any]:
    """The place of the last one looked at; null when there are no more."""
    full = select(func.count()).select_from(among).scalar_subquery() == bindparam("look")
    if sort is Sort.QUIETEST:
        at = among.c.last_activity_at
        place = select(at.concat("_").concat(among.c.id)).order_by(at.desc(), among.c.id.desc()).limit(1)
    else:
        place = select(func.max(among.c.id) if sort is Sort.ID else func.min(among.c.id))
    return case((full, place.scalar_subquery()))


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    some = select(tickets.c.id).where(condition).limit(COUNT_MAX).subquery()
    return select(func.count()).select_from(some).scalar_subquery()
