"""A ticket as its page shows it: three statements."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.runtime.instants import to_text
from app.schemas import TicketOut
from app.services.tickets import head
from app.services.timeline import Timeline, timeline

WAITING = text("""
SELECT principal_key, expires_at FROM approvals
WHERE subject = :subject AND ended IS NULL AND decision IS NULL AND expires_at > :now
ORDER BY requested_at LIMIT 5
""")


class TicketView(Struct, frozen=True):
    """`waiting` are the rows, with principal_key and expires_at, of requests about it that wait for an answer."""

    ticket: TicketOut
    body: str
    waiting: Sequence[Any]
    history: Timeline


def view(session: Session, ticket_id: int, now: datetime, *, before: str | None, whole: int) -> TicketView:
    ticket, body = head(session, ticket_id)
    return TicketView(
        ticket, body, _waiting(session, ticket_id, now), timeline(session, ticket_id, now, before=before, whole=whole)
    )


def _waiting(session: Session, ticket_id: int, now: datetime) -> Sequence[Any]:
    return session.execute(WAITING, {"subject": f"ticket:{ticket_id}", "now": to_text(now)}).all()
