"""What a fresh database starts with: an operator, and four tickets of which two are stale."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import exists, insert, select
from sqlalchemy.orm import Session

from app.domain import Category, Speaker, Status
from app.runtime.instants import to_text
from db.schema import CommentRow, TicketRow, UserRow

NAME, EMAIL = "Ops On-Call", "ops@example.test"
ANSWERED = {
    "Login page 500s on Safari": ("Ana", Category.BUG, "A fix is out. Does it work for you now?"),
    "Stale: invoice export truncates": ("Bo", Category.BILLING, "Could you send us the file you got?"),
}


def plant(session: Session, now: datetime) -> bool:
    """Tickets for a database without tickets, an operator for one without people. Whether the operator is new."""
    if not session.scalar(select(exists(select(TicketRow.id)))):
        _plant_tickets(session, to_text(now - timedelta(days=12)), to_text(now - timedelta(days=1)))
    if session.scalar(select(exists(select(UserRow.id)))):
        return False
    person = {"name": NAME, "email": EMAIL, "abilities": ["operate"], "created_at": to_text(now)}
    session.execute(insert(UserRow).values(person))
    return True


def _plant_tickets(session: Session, long_ago: str, yesterday: str) -> None:
    closed = {"status": Status.CLOSED.value, "updated_at": yesterday, "closed_at": yesterday, "closed_by": NAME}
    answered = {"last_speaker": Speaker.OPERATOR.value, "version": 2}
    rows = [
        *(_ticket(title, who, long_ago, category=about, **answered) for title, (who, about, _) in ANSWERED.items()),
        _ticket("Docs typo in the quickstart", "Chidi", yesterday),
        _ticket("Billing webhook retry storm", "Dana", long_ago, category=Category.BILLING, version=2, **closed),
    ]
    session.execute(insert(TicketRow), [{"id": number, **row} for number, row in enumerate(rows, 1)])
    replies = [_reply(number, words, long_ago) for number, (_, _, words) in enumerate(ANSWERED.values(), 1)]
    session.execute(insert(CommentRow), replies)


def _ticket(title: str, requester: str, at: str, **columns: Any) -> dict[str, Any]:
    row = {"title": title, "requester": requester, "last_speaker": Speaker.REQUESTER.value, "version": 1}
    row |= {"status": Status.OPEN.value, "category": None, "closed_at": None, "closed_by": None}
    return row | dict.fromkeys(("created_at", "updated_at", "last_activity_at"), at) | columns


def _reply(ticket_id: int, words: str, at: str) -> dict[str, Any]:
    author = {"author_kind": Speaker.OPERATOR.value, "author_name": NAME, "public": True}
    return {"ticket_id": ticket_id, "body": words, "created_at": at, **author}
