"""Tickets that began elsewhere. Repeatable: a ticket is known by its external id, a comment by all it says.

What a file says is taken over: title, whatever details and labels it names, comments that are not here yet. Where it
names `closed_at`, the status follows as long as nobody here decided otherwise: a ticket closes if it did so there after
its last activity here; it opens again, which is activity, only if an import had closed it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from msgspec import Struct, json, structs
from sqlalchemy import Select, Table, and_, case, delete, func, insert, literal, or_, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningInsert, Update

from app.domain import Speaker, Status
from app.runtime import invocation
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from db.schema import CommentRow, EventRow, LabelRow, TicketRow

tickets, labels, comments = (cast("Table", row.__table__) for row in (TicketRow, LabelRow, CommentRow))

AGENT = "agent"  # what a machine said; it moves nothing
SAID = ("ticket_id", "author_kind", "author_name", "body", "created_at", "public")
WEIGHTY = ("title", "priority", "assignee")  # a decision to close rests on them


class ForeignComment(Struct, frozen=True):
    """Instants are fixed-width UTC text. In the order of SAID."""

    author_kind: str
    author_name: str
    body: str
    created_at: str
    public: bool


class ForeignTicket(Struct, frozen=True):
    """`last_speaker` is what is known without the comments. What may be left out is there only when it is named."""

    external_id: str
    title: str
    created_at: str
    last_speaker: Speaker
    details: dict[str, str | None] = {}  # body, closed_at, requester, assignee, priority, category
    labels: tuple[str, ...] | None = None
    comments: tuple[ForeignComment, ...] = ()  # oldest first


class Imported(Struct, frozen=True):
    added: int = 0
    updated: int = 0
    unchanged: int = 0

    def __add__(self, more: "Imported") -> "Imported":
        return Imported(self.added + more.added, self.updated + more.updated, self.unchanged + more.unchanged)


def keep(session: Session, given: Sequence[ForeignTicket], *, by: Principal, now: datetime) -> Imported:
    """Each external id at most once. One transaction: as many as the write lock may be held for."""
    at = to_text(now)
    known = _known(session, given)
    changed = {row.external_id: row.id for names, alike in _alike(given) for row in _put(session, names, alike, at)}
    ids = known | changed
    relabelled = _label(session, {ids[one.external_id]: one.labels for one in given if one.labels is not None})
    said, moved = _say(session, {ids[one.external_id]: one.comments for one in given if one.comments})
    moved |= relabelled & set(known.values())
    if moved:
        session.execute(_move(moved, at))
    touched = relabelled | said
    changed |= {name: ticket_id for name, ticket_id in ids.items() if ticket_id in touched}
    _record(session, changed, by, at)
    added = len(ids) - len(known)
    return Imported(added, len(changed) - added, len(given) - len(changed))


def _known(session: Session, given: Sequence[ForeignTicket]) -> dict[str, int]:
    """The ids of those that are here already."""
    names = _each(one.external_id for one in given)
    found = select(tickets.c.external_id, tickets.c.id).where(tickets.c.external_id.in_(names))
    return {row.external_id: row.id for row in session.execute(found)}


def _alike(given: Sequence[ForeignTicket]) -> Iterable[tuple[tuple[str, ...], list[ForeignTicket]]]:
    """By the details they name: one statement sets one list of columns."""
    groups = defaultdict(list)
    for one in given:
        groups[tuple(sorted(one.details))].append(one)
    return groups.items()


def _put(session: Session, details: tuple[str, ...], given: list[ForeignTicket], at: str) -> Sequence[Any]:
    """The ids and external ids of those that are new or changed."""
    return session.execute(_upsert(details, at), [_values(one) for one in given]).all()


def _values(ticket: ForeignTicket) -> dict[str, object]:
    closed_at = ticket.details.get("closed_at")
    last = closed_at or ticket.created_at
    return {
        "external_id": ticket.external_id,
        "title": ticket.title,
        "status": Status.CLOSED.value if closed_at else Status.OPEN.value,
        "created_at": ticket.created_at,
        "updated_at": last,
        "last_activity_at": last,
        "last_speaker": ticket.last_speaker.value,
        **ticket.details,
    }


def _upsert(details: tuple[str, ...], at: str) -> ReturningInsert[Any]:
    row = sqlite.insert(tickets)
    new, old = row.excluded, tickets.c
    taken = [name for name in ("title", *details) if name != "closed_at"]
    differs = {name: old[name].is_distinct_from(new[name]) for name in taken}
    closes = and_(old.status == Status.OPEN.value, new.closed_at >= old.last_activity_at)
    closed_by_import = and_(old.status == Status.CLOSED.value, old.closed_by.is_(None))
    reopens = and_(closed_by_import, new.closed_at.is_(None), literal("closed_at" in details))
    unanswered = and_(old.last_speaker == Speaker.NONE.value, new.last_speaker == Speaker.REQUESTER.value)
    weighty = or_(closes, reopens, unanswered, *(differs[name] for name in WEIGHTY if name in differs))
    return row.on_conflict_do_update(
        index_elements=["external_id"],
        set_={
            **{name: new[name] for name in taken},
            "status": case((or_(closes, reopens), new.status), else_=old.status),
            "closed_at": case((or_(closes, reopens), new.closed_at), else_=old.closed_at),
            "last_speaker": case((unanswered, new.last_speaker), else_=old.last_speaker),
            "last_activity_at": case((reopens, at), else_=old.last_activity_at),
            "version": old.version + case((weighty, 1), else_=0),
            "updated_at": at,
        },
        where=or_(weighty, *differs.values()),
    ).returning(old.id, old.external_id)


def _label(session: Session, wanted: Mapping[int, tuple[str, ...]]) -> set[int]:
    """Each ticket gets exactly these labels. The tickets whose labels changed."""
    have = {tuple(row) for row in session.execute(_of(labels, ("ticket_id", "label"), wanted))}
    want = {(ticket_id, label) for ticket_id, names in wanted.items() for label in names}
    for ticket_id, label in have - want:
        session.execute(delete(labels).where(labels.c.ticket_id == ticket_id, labels.c.label == label))
    if want - have:
        session.execute(insert(labels), [{"ticket_id": ticket_id, "label": label} for ticket_id, label in want - have])
    return {ticket_id for ticket_id, _ in have ^ want}


def _say(session: Session, given: Mapping[int, tuple[ForeignComment, ...]]) -> tuple[set[int], set[int]]:
    """Add what is not here yet. The tickets that got a comment, and those that a person's public word moves."""
    here = {tuple(row) for row in session.execute(_of(comments, SAID, given))}
    said = [(ticket_id, *structs.astuple(one)) for ticket_id, all_said in given.items() for one in all_said]
    fresh = [dict(zip(SAID, one, strict=True)) for one in said if one not in here]
    if fresh:
        session.execute(insert(comments), fresh)
    moved = {one["ticket_id"] for one in fresh if one["public"] and one["author_kind"] != AGENT}
    return {one["ticket_id"] for one in fresh}, moved


def _move(moved: Iterable[int], at: str) -> Update:
    """What a decision to close rests on has changed. Activity and speaker follow the last public word of a person."""
    is_word = and_(comments.c.ticket_id == tickets.c.id, comments.c.public, comments.c.author_kind != AGENT)
    newest = comments.c.created_at.desc(), comments.c.id.desc()
    word = {
        column.name: select(column).where(is_word).order_by(*newest).limit(1).scalar_subquery()
        for column in (comments.c.created_at, comments.c.author_kind)
    }
    return (
        update(tickets)
        .where(tickets.c.id.in_(_each(moved)))
        .values(
            version=tickets.c.version + 1,
            updated_at=at,
            last_activity_at=func.max(tickets.c.last_activity_at, func.coalesce(word["created_at"], "")),
            last_speaker=func.coalesce(word["author_kind"], tickets.c.last_speaker),
        )
    )


def _of(table: Table, columns: Sequence[str], ids: Iterable[int]) -> Select[Any]:
    return select(*(table.c[name] for name in columns)).where(table.c.ticket_id.in_(_each(ids)))


def _each(values: Iterable[int | str]) -> Select[Any]:
    return select(func.json_each(json.encode(list(values)).decode()).table_valued("value").c.value)


def _record(session: Session, changed: Mapping[str, int], by: Principal, at: str) -> None:
    if changed:
        common = {"kind": "imported", "actor": by.key, "trace_id": invocation.trace_id(), "at": at}
        rows = [{"subject": f"ticket:{i}", "data": {"external_id": name}, **common} for name, i in changed.items()]
        session.execute(insert(EventRow), rows)
