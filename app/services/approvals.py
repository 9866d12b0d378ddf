"""The approvals as people meet them: the only place that knows which request can be answered. Every door calls it."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, delete, func, or_, select, text, update
from sqlalchemy.orm import Session

from app.domain import Conflict, Invalid, NotFound
from app.runtime.instants import after, to_text
from app.runtime.principal import Principal
from app.runtime.tools.redact import redact_text
from app.schemas import ApprovalOut, ApprovalPage, Pruned
from app.services import brakes, events
from app.services.approval_rows import TOLD_WITHIN, status_of
from app.services.checked import instant
from db.schema import ApprovalRow

PENDING_MAX, RESOLVED_MAX, DECLINED_MAX = 50, 20, 20
COLUMNS = [column for column in ApprovalRow.__table__.columns if column.name not in ("fingerprint", "trace_id")]
SAME = [name for name in ApprovalOut.__struct_fields__ if name not in ("status", "principal", "fingerprint")]


def listing(session: Session, now: datetime) -> ApprovalPage:
    """The oldest requests that can be answered, the newest that no longer can, and what is declined: two statements."""
    at = to_text(now)
    answerable = and_(ApprovalRow.ended.is_(None), ApprovalRow.decision.is_(None), ApprovalRow.expires_at > at)
    oldest = select(*COLUMNS).order_by(ApprovalRow.requested_at, text("rowid"))
    newest = select(ApprovalRow.id).order_by(ApprovalRow.requested_at.desc(), text("rowid DESC"))
    asked = ApprovalRow.fingerprint != ""  # a tombstone was never asked
    pending = session.execute(oldest.where(answerable).limit(PENDING_MAX))
    no_longer = newest.where(~answerable, asked).limit(RESOLVED_MAX)
    declined = newest.where(_remembered(now)).limit(DECLINED_MAX)
    past = session.execute(
        select(*COLUMNS, _remembered(now).label("declined"))
        .where(ApprovalRow.id.in_(no_longer) | ApprovalRow.id.in_(declined))
        .order_by(ApprovalRow.requested_at.desc(), text("rowid DESC"))
    ).all()  # what no longer can be answered comes first, as far as RESOLVED_MAX
    return ApprovalPage(
        pending=[_out(row, now) for row in pending],
        resolved=[_out(row, now) for row in past[:RESOLVED_MAX]],
        declined=[_out(row, now) for row in past if row.declined],
    )


def find(session: Session, request_id: str, now: datetime) -> ApprovalOut | None:
    row = session.execute(select(*COLUMNS).where(ApprovalRow.id == request_id)).first()
    return _out(row, now) if row else None


def approve(
    session: Session, request_id: str, *, by: Principal, now: datetime, reason: str | None, use_ttl_s: float
) -> ApprovalOut:
    """Record a yes, usable for `use_ttl_s` seconds. Raises NotFound, or Conflict with the word that stands."""
    return _resolve(session, request_id, by, now, decision="approved", reason=reason, use_by=after(now, use_ttl_s))


def reject(
    session: Session,
    request_id: str,
    *,
    by: Principal,
    now: datetime,
    reason: str | None,
    until_at: str | None,
    until_window_ends: bool = False,
) -> ApprovalOut:
    """Record a no, remembered until `until_at`, until the time to answer would have ended, or always.

    Raises as `approve` does, and Invalid.
    """
    if until_at is not None:
        _in_the_future(until_at, now, until_window_ends=until_window_ends)
    until = ApprovalRow.expires_at if until_window_ends else until_at
    ended = {"ended": "rejected", "ended_at": to_text(now), "until_at": until}
    return _resolve(session, request_id, by, now, decision="rejected", reason=reason, **ended)


def ask_again(session: Session, request_id: str, *, by: Principal, now: datetime) -> ApprovalOut:
    """Forget a no, so that the same may be asked again. Raises NotFound, or Conflict with the word that stands."""
    row = session.execute(
        update(ApprovalRow)
        .where(ApprovalRow.id == request_id, _remembered(now))
        .values(superseded_at=to_text(now))
        .returning(*COLUMNS)
    ).first()
    if row is None:
        raise _not_remembered(session, request_id, now)
    events.record(session, subject=row.subject, kind="ask again", by=by, now=now, request_id=request_id)
    return _out(row, now)


def prune(session: Session, older_than_days: int, now: datetime, most: int | None = None) -> Pruned:
    """Delete requests that ended, or lapsed unspent, longer ago than this. A remembered rejection stays.

    At most `most`, the oldest first; None means all.
    """
    before = to_text(now - max(timedelta(days=older_than_days), TOLD_WITHIN))
    lapsed = and_(
        ApprovalRow.ended.is_(None),
        ApprovalRow.claim_id.is_(None),
        func.coalesce(ApprovalRow.use_by, ApprovalRow.expires_at) <= before,
    )
    old = select(ApprovalRow.id).where(or_(and_(ApprovalRow.ended_at <= before, ~_remembered(now)), lapsed))
    oldest = old.order_by(ApprovalRow.requested_at).limit(most)
    gone = session.execute(delete(ApprovalRow).where(ApprovalRow.id.in_(oldest)).returning(ApprovalRow.id)).all()
    return Pruned(pruned=len(gone), before=before)


def _remembered(now: datetime) -> ColumnElement[bool]:
    """A no that still stands."""
    stands = or_(ApprovalRow.until_at.is_(None), ApprovalRow.until_at > to_text(now))
    return and_(ApprovalRow.ended == text("'rejected'"), ApprovalRow.superseded_at.is_(None), stands)


def _in_the_future(until_at: str, now: datetime, *, until_window_ends: bool) -> None:
    if until_window_ends:
        raise Invalid("It is one of until_at and until_window_ends. Nothing was decided.")
    if instant("until_at", until_at) <= to_text(now):
        raise Invalid(f"until_at is {until_at}, which is past. Nothing was decided. Leave it out to reject always.")


def _resolve(session: Session, request_id: str, by: Principal, now: datetime, **answer: Any) -> ApprovalOut:
    at = to_text(now)
    reason = answer.pop("reason")
    row = session.execute(
        update(ApprovalRow)
        .where(
            ApprovalRow.id == request_id,
            ApprovalRow.decision.is_(None),
            ApprovalRow.ended.is_(None),
            ApprovalRow.expires_at > at,
            text(f"NOT {brakes.HALTED}"),
        )
        .values(decided_at=at, decided_by=by.name, reason=reason and redact_text(reason), **answer)
        .returning(*COLUMNS)
    ).first()
    if row is None:
        raise _not_answerable(session, request_id, now)
    events.record(
        session,
        subject=row.subject,
        kind=row.decision,
        by=by,
        now=now,
        request_id=request_id,
        data={"reason": row.reason} if row.reason else None,
    )
    return _out(row, now)


def _not_answerable(session: Session, request_id: str, now: datetime) -> NotFound | Conflict:
    row = session.execute(select(*COLUMNS).where(ApprovalRow.id == request_id)).first()
    if row is None:
        return NotFound("There is no such request. Nothing was decided. List them with: GET /approvals")
    word = row.decision or _word(row, now)  # the first answer stands, whatever became of it since
    if word == "pending" and (brake := brakes.holding(session, row.principal_key)):
        return Conflict(f"{brake} Nothing was decided; the time to answer runs on. First: {brake.release}", "halted")
    who = f" by {row.decided_by}" if row.decided_by else ""
    again = " The agent may ask again later." if word == "expired" else ""
    return Conflict(f"This request is {word}{who} already. Nothing was decided.{again}", state=word)


def _not_remembered(session: Session, request_id: str, now: datetime) -> NotFound | Conflict:
    row = session.execute(select(*COLUMNS).where(ApprovalRow.id == request_id)).first()
    if row is None:
        return NotFound("There is no such request. Nothing was changed. List them with: GET /approvals")
    word = _word(row, now)
    forgotten = ", and forgotten already" if word == "rejected" else ""
    return Conflict(f"This request is {word}{forgotten}: no rejection stands. Nothing was changed.", state=word)


def _out(row: Row[*tuple[Any, ...]], now: datetime) -> ApprovalOut:
    fields = {name: getattr(row, name) for name in SAME}
    return ApprovalOut(**fields, status=_word(row, now), principal=row.principal_key, fingerprint=row.shown)


def _word(row: Row[*tuple[Any, ...]], now: datetime) -> str:
    """The status for people: a call being carried out is still approved, one whose time is over has expired."""
    status = status_of(row, now)
    return {"spent": "approved", "lapsed": "expired"}.get(status, status)
