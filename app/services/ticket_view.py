"""A ticket as its page shows it: three statements."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.runtime.instants import to_text
from app.schemas import TicketOut
from app.services.tickets import head
from app.services.timeline import Timeline, timeline
from db.schema import ApprovalRow

WAITING_MAX = 5


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
    return session.execute(
        select(ApprovalRow.principal_key, ApprovalRow.expires_at)
        .where(
            ApprovalRow.subject == f"ticket:{ticket_id}",
            ApprovalRow.ended.is_(None),
            ApprovalRow.decision.is_(None),
            ApprovalRow.expires_at > to_text(now),
        )
        .order_by(ApprovalRow.requested_at)
        .limit(WAITING_MAX)
    ).all()
