"""Taking back what a person said. The decision stays as it was recorded: what follows from it ends, or is undone.

Each is one conditional statement. A yes that is not spent yet is cancelled, as its caller could withdraw it; one that
closed a ticket is undone by reopening that, while it is as the close left it; a no is forgotten.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import Row, select, update
from sqlalchemy.orm import Session

from app.domain import Conflict, NotFound
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from app.schemas import ApprovalOut
from app.services import events, tickets
from app.services.approval_rows import COLUMNS, approval_out, remembered, word_of
from app.services.cards import closed_at_version, ticket_of
from db.schema import ApprovalRow

UNDONE = "undone"  # the ended_reason of a yes that was taken back


def undo(session: Session, request_id: str, *, by: Principal, now: datetime) -> ApprovalOut:
    """Raises NotFound, or Conflict with the word that stands. A halt does not hinder it: it protects."""
    if taken_back := _take_back(session, request_id, by, now):
        return taken_back
    row = _look(session, request_id)
    if row.ended == "rejected":
        return ask_again(session, request_id, by=by, now=now)
    if row.ended != "used":
        raise Conflict(_why_not(row, now), word_of(row, now))
    _reopen(session, row, by, now)
    return approval_out(row, now)


def ask_again(session: Session, request_id: str, *, by: Principal, now: datetime) -> ApprovalOut:
    """Forget a no, so that the same may be asked again. Raises NotFound, or Conflict with the word that stands."""
    row = session.execute(
        update(ApprovalRow)
        .where(ApprovalRow.id == request_id, remembered(now))
        .values(superseded_at=to_text(now))
        .returning(*COLUMNS)
    ).first()
    if row is None:
        raise _not_remembered(_look(session, request_id), now)
    events.record(session, subject=row.subject, kind="ask again", by=by, now=now, request_id=request_id)
    return approval_out(row, now)


def _take_back(session: Session, request_id: str, by: Principal, now: datetime) -> ApprovalOut | None:
    """Cancel a yes while nobody has spent it. Whoever would spend it now finds that it has ended."""
    at = to_text(now)
    row = session.execute(
        update(ApprovalRow)
        .where(
            ApprovalRow.id == request_id,
            ApprovalRow.decision == "approved",
            ApprovalRow.ended.is_(None),
            ApprovalRow.claim_id.is_(None),
            ApprovalRow.use_by > at,
        )
        .values(ended="cancelled", ended_at=at, ended_reason=UNDONE)
        .returning(*COLUMNS)
    ).first()
    if row is None:
        return None
    events.record(session, subject=row.subject, kind="taken back", by=by, now=now, request_id=request_id)
    return approval_out(row, now)


def _reopen(session: Session, row: Row[Any], by: Principal, now: datetime) -> None:
    """What has been used stays so: between reading that and this, nothing about the request can change."""
    ticket_id, version = ticket_of(row.subject), closed_at_version(row.preview)
    if ticket_id is None or version is None:
        raise Conflict("What this call did cannot be undone here. Nothing was changed.", "used")
    try:
        tickets.reopen(session, ticket_id, version, by=by, now=now, undoes=row.id)
    except Conflict as moved:
        raise Conflict(f"The ticket is not as that close left it. {moved}", "used") from moved


def _look(session: Session, request_id: str) -> Row[Any]:
    row = session.execute(select(*COLUMNS).where(ApprovalRow.id == request_id)).first()
    if row is None:
        raise NotFound("There is no such request. Nothing was changed. List them with: GET /approvals")
    return row


def _why_not(row: Row[Any], now: datetime) -> str:
    word = word_of(row, now)
    if word == "approved":
        return "It is being carried out: too late to take the yes back. Nothing was changed. Try again in a moment."
    if word == "unknown":
        return "The call may have been carried out, or not. Nothing was changed. Look at what it was about."
    return f"This request is {word}: there is no answer to take back. Nothing was changed."


def _not_remembered(row: Row[Any], now: datetime) -> Conflict:
    word = word_of(row, now)
    forgotten = ", and forgotten already" if word == "rejected" else ""
    return Conflict(f"This request is {word}{forgotten}: no rejection stands. Nothing was changed.", state=word)
