"""Tickets that began elsewhere. Repeatable: a ticket is known by its external id, and nothing is reopened."""

from datetime import datetime
from typing import Any, cast

from msgspec import Struct
from sqlalchemy import Table, and_, case, insert, or_, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningInsert

from app.domain import Speaker, Status
from app.runtime import invocation
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from db.schema import EventRow, TicketRow

tickets = cast("Table", TicketRow.__table__)


class ForeignTicket(Struct, frozen=True):
    """Instants are fixed-width UTC text."""

    external_id: str
    title: str
    body: str
    created_at: str
    closed_at: str | None
    last_speaker: Speaker


class Imported(Struct, frozen=True):
    added: int
    updated: int
    unchanged: int


def keep(session: Session, given: list[ForeignTicket], *, by: Principal, now: datetime) -> Imported:
    """Add the new ones. Those already here take title and body, and close if they did so after their last activity."""
    if not given:
        return Imported(0, 0, 0)
    known = set(session.execute(select(tickets.c.external_id)).scalars())
    changed = session.execute(_upsert(to_text(now)), [_values(ticket) for ticket in given]).all()
    added = sum(external_id not in known for _, external_id in changed)
    if changed:
        common = {"kind": "imported", "actor": by.key, "trace_id": invocation.trace_id(), "at": to_text(now)}
        rows = [{"subject": f"ticket:{i}", "data": {"external_id": name}, **common} for i, name in changed]
        session.execute(insert(EventRow), rows)
    return Imported(added, len(changed) - added, len(given) - len(changed))


def _values(ticket: ForeignTicket) -> dict[str, object]:
    last = ticket.closed_at or ticket.created_at
    return {
        "external_id": ticket.external_id,
        "title": ticket.title,
        "body": ticket.body,
        "status": Status.CLOSED.value if ticket.closed_at else Status.OPEN.value,
        "created_at": ticket.created_at,
        "updated_at": last,
        "last_activity_at": last,
        "last_speaker": ticket.last_speaker.value,
        "closed_at": ticket.closed_at,
    }


def _upsert(at: str) -> ReturningInsert[Any]:
    row = sqlite.insert(tickets)
    new, old = row.excluded, tickets.c
    closes = and_(old.status == Status.OPEN.value, new.closed_at >= old.last_activity_at)
    weighty = or_(old.title != new.title, closes)
    return row.on_conflict_do_update(
        index_elements=["external_id"],
        set_={
            "title": new.title,
            "body": new.body,
            "status": case((closes, Status.CLOSED.value), else_=old.status),
            "closed_at": case((closes, new.closed_at), else_=old.closed_at),
            "version": old.version + case((weighty, 1), else_=0),
            "updated_at": at,
        },
        where=or_(weighty, old.body != new.body),
    ).returning(old.id, old.external_id)
