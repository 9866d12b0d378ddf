"""What the database need not keep, and how long it keeps it. Once a night; finished runs are bounded where they end."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from app.runtime.instants import to_text
from app.runtime.principal import Principal
from app.services import approvals
from db.engine import Database
from db.schema import ApprovalRow, EventRow, SessionRow, SignInLinkRow

NIGHTLY = "0 3 * * *"  # UTC
APPROVALS_DAYS = 90  # after the end of a request; a remembered rejection is kept for as long as it is remembered
EVENTS_DAYS = 365  # never the newest one: live pages follow it
BATCH = 500  # rows in one transaction, so that no other write waits long

Batch = Callable[[Session, datetime], int]  # deletes at most BATCH rows, and says how many


async def tidy(db: Database, now: datetime) -> dict[str, int]:
    """Delete what is past its time. How many rows of each kind went."""
    batches: dict[str, Batch] = {"sessions": _sessions, "links": _links, "approvals": _approvals, "events": _events}
    return {kind: await _all(db, batch, now) for kind, batch in batches.items()}


async def _all(db: Database, batch: Batch, now: datetime) -> int:
    gone = 0
    while True:
        gone += (last := await db.write(batch, now))
        if last < BATCH:
            return gone
        await asyncio.sleep(0)  # whoever waits goes first


def _sessions(session: Session, now: datetime) -> int:
    return _expired(session, SessionRow, now)


def _links(session: Session, now: datetime) -> int:
    return _expired(session, SignInLinkRow, now)


def _expired(session: Session, table: type[SessionRow] | type[SignInLinkRow], now: datetime) -> int:
    old = select(table.id).where(table.expires_at <= to_text(now)).limit(BATCH)
    return len(session.execute(delete(table).where(table.id.in_(old)).returning(table.id)).all())


def _approvals(session: Session, now: datetime) -> int:
    return approvals.prune(session, APPROVALS_DAYS, now, BATCH).pruned


def _events(session: Session, now: datetime) -> int:
    """Those with the lowest ids, which are the oldest: however many events there are, it looks at no more."""
    first = select(EventRow.id, EventRow.at).order_by(EventRow.id).limit(BATCH).subquery()
    old = select(first.c.id).where(first.c.at <= to_text(now - timedelta(days=EVENTS_DAYS)))
    newest = select(func.max(EventRow.id)).scalar_subquery()
    gone = delete(EventRow).where(EventRow.id.in_(old), EventRow.id < newest).returning(EventRow.id)
    return len(session.execute(gone).all())


def restored(session: Session, by: Principal, now: datetime) -> dict[str, int]:
    """For a database that comes from a backup: nobody is signed in, and what nobody has answered is asked anew.

    An answer stands. Whoever was to carry it out still does, within its time.
    """
    at = to_text(now)
    counts = {"sessions": len(session.execute(delete(SessionRow).returning(SessionRow.id)).all())}
    counts["links"] = len(session.execute(delete(SignInLinkRow).returning(SignInLinkRow.id)).all())
    pending = (ApprovalRow.ended.is_(None), ApprovalRow.decision.is_(None), ApprovalRow.claim_id.is_(None))
    cancelled = session.execute(
        update(ApprovalRow)
        .where(*pending)
        .values(ended="cancelled", ended_at=at, ended_reason="restored")
        .returning(ApprovalRow.id, ApprovalRow.subject)
    ).all()
    event = {"kind": "cancelled", "actor": by.key, "data": {"reason": "restored"}, "at": at}
    if cancelled:
        session.execute(
            insert(EventRow), [{**event, "subject": row.subject, "request_id": row.id} for row in cancelled]
        )
    return {**counts, "cancelled": len(cancelled)}
