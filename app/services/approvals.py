"""The approvals as people meet them: the only place that knows which request can be answered. Every door calls it."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, delete, func, or_, select, text, update
from sqlalchemy.orm import Session

from app.domain import Conflict, Invalid, NotFound
from app.runtime.instants import after, to_text
from app.runtime.principal import Principal
from app.runtime.tools.redact import redact_text
from app.schemas import ApprovalOut, ApprovalPage, Decision, Item, Pruned
from app.services import brakes, events
from app.services.approval_gate import STANDS
from app.services.approval_rows import COLUMNS, TOLD_WITHIN, approval_out, remembered, word_of
from app.services.checked import instant
from db.schema import ApprovalRow

PENDING_MAX, RESOLVED_MAX, DECLINED_MAX = 50, 20, 20
AS_SEEN = """
id IN (SELECT json_extract(value, '$[0]') FROM json_each(:seen))
AND (id, shown) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:seen))
"""  # the first says it to the index
# By its index: the planner, left alone, reads every no that was ever said.
DECLINED = f"""
SELECT id FROM approvals INDEXED BY approvals_remembered WHERE {STANDS}
ORDER BY requested_at DESC, rowid DESC LIMIT {DECLINED_MAX}
"""  # noqa: S608 (constant text)


def listing(session: Session, now: datetime) -> ApprovalPage:
    """The oldest requests that can be answered, the newest that no longer can, and what is declined: two statements."""
    at = to_text(now)
    answerable = and_(ApprovalRow.ended.is_(None), ApprovalRow.decision.is_(None), ApprovalRow.expires_at > at)
    oldest = select(*COLUMNS).order_by(ApprovalRow.requested_at, text("rowid"))
    newest = select(ApprovalRow.id).order_by(ApprovalRow.requested_at.desc(), text("rowid DESC"))
    asked = ApprovalRow.fingerprint != ""  # a tombstone was never asked
    pending = session.execute(oldest.where(answerable).limit(PENDING_MAX))
    no_longer = newest.where(~answerable, asked).limit(RESOLVED_MAX)
    declined = text(DECLINED).bindparams(now=at)
    past = session.execute(
        select(*COLUMNS, remembered(now).label("declined"))
        .where(ApprovalRow.id.in_(no_longer) | ApprovalRow.id.in_(declined))
        .order_by(ApprovalRow.requested_at.desc(), text("rowid DESC"))
    ).all()  # what no longer can be answered comes first, as far as RESOLVED_MAX
    return ApprovalPage(
        pending=[approval_out(row, now) for row in pending],
        resolved=[approval_out(row, now) for row in past[:RESOLVED_MAX]],
        declined=[approval_out(row, now) for row in past if row.declined],
    )


def approve(
    session: Session,
    request_id: str,
    *,
    by: Principal,
    now: datetime,
    reason: str | None,
    use_ttl_s: float,
    fingerprint: str | None = None,
) -> ApprovalOut:
    """Record a yes, usable for `use_ttl_s` seconds; with a `fingerprint`, only to what was shown under that one.

    Raises NotFound, or Conflict with the word that stands.
    """
    return _answer_one(session, request_id, fingerprint, by, now, reason, _yes(now, use_ttl_s))


def reject(
    session: Session,
    request_id: str,
    *,
    by: Principal,
    now: datetime,
    reason: str | None,
    until_at: str | None,
    until_window_ends: bool = False,
    fingerprint: str | None = None,
) -> ApprovalOut:
    """Record a no, remembered until `until_at`, until the time to answer would have ended, or always.

    Raises as `approve` does, and Invalid.
    """
    no = _no(now, until_at, until_window_ends=until_window_ends)
    return _answer_one(session, request_id, fingerprint, by, now, reason, no)


def answer_many(
    session: Session,
    decision: Decision,
    requests: Sequence[tuple[str, str]],
    *,
    by: Principal,
    now: datetime,
    reason: str | None,
    use_ttl_s: float,
    until_at: str | None = None,
    until_window_ends: bool = False,
) -> list[Item]:
    """One answer to requests given as (id, fingerprint): to each that can be answered, and is what was shown.

    Each once, in the order given. Two statements, and one more when some could not be answered. Raises Invalid.
    """
    if decision == "rejected":
        answer = _no(now, until_at, until_window_ends=until_window_ends)
    elif until_at or until_window_ends:
        raise Invalid("until_at and until_window_ends are for a no. Nothing was decided.")
    else:
        answer = _yes(now, use_ttl_s)
    seen = dict(requests)
    which: ColumnElement[bool] = and_(text(AS_SEEN).bindparams(seen=json.dumps([*seen.items()])))
    answered = {row.id: row for row in _record(session, which, by, now, reason, answer)}
    others = [request_id for request_id in seen if request_id not in answered]
    stand = _standing(session, others) if others else {}
    return [
        Item(one, decision, True, by.name, answered[one].principal_key)
        if one in answered
        else _not_answered(one, seen[one], stand.get(one), now)
        for one in seen
    ]


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
    old = select(ApprovalRow.id).where(or_(and_(ApprovalRow.ended_at <= before, ~remembered(now)), lapsed))
    oldest = old.order_by(ApprovalRow.requested_at).limit(most)
    gone = session.execute(delete(ApprovalRow).where(ApprovalRow.id.in_(oldest)).returning(ApprovalRow.id)).all()
    return Pruned(pruned=len(gone), before=before)


def _yes(now: datetime, use_ttl_s: float) -> dict[str, Any]:
    return {"decision": "approved", "use_by": after(now, use_ttl_s)}


def _no(now: datetime, until_at: str | None, *, until_window_ends: bool) -> dict[str, Any]:
    if until_at is not None:
        _in_the_future(until_at, now, until_window_ends=until_window_ends)
    until = ApprovalRow.expires_at if until_window_ends else until_at
    return {"decision": "rejected", "ended": "rejected", "ended_at": to_text(now), "until_at": until}


def _in_the_future(until_at: str, now: datetime, *, until_window_ends: bool) -> None:
    if until_window_ends:
        raise Invalid("It is one of until_at and until_window_ends. Nothing was decided.")
    if instant("until_at", until_at) <= to_text(now):
        raise Invalid(f"until_at is {until_at}, which is past. Nothing was decided. Leave it out to reject always.")


def _answer_one(
    session: Session,
    request_id: str,
    fingerprint: str | None,
    by: Principal,
    now: datetime,
    reason: str | None,
    answer: dict[str, Any],
) -> ApprovalOut:
    which = ApprovalRow.id == request_id
    if fingerprint is not None:
        which = and_(which, ApprovalRow.shown == fingerprint)
    for row in _record(session, which, by, now, reason, answer):
        return approval_out(row, now)
    raise _not_answerable(session, request_id, now)


def _record(
    session: Session,
    which: ColumnElement[bool],
    by: Principal,
    now: datetime,
    reason: str | None,
    answer: dict[str, Any],
) -> Sequence[Row[Any]]:
    """The requests that have this answer now: an UPDATE, and an INSERT of their events."""
    at = to_text(now)
    rows = session.execute(
        update(ApprovalRow)
        .where(
            which,
            ApprovalRow.decision.is_(None),
            ApprovalRow.ended.is_(None),
            ApprovalRow.expires_at > at,
            text(f"NOT {brakes.HALTED}"),
        )
        .values(decided_at=at, decided_by=by.name, reason=reason and redact_text(reason), **answer)
        .returning(*COLUMNS)
    ).all()
    if rows:
        ids, said = [row.id for row in rows], rows[0].reason
        events.record_each(session, ids, kind=answer["decision"], by=by, now=now, data={"reason": said} if said else {})
    return rows


def _standing(session: Session, ids: list[str]) -> dict[str, Any]:
    """The rows, each with whether a brake holds it."""
    halted = text(f"{brakes.HALTED} AS halted")
    these = text("id IN (SELECT value FROM json_each(:ids))").bindparams(ids=json.dumps(ids))
    return {row.id: row for row in session.execute(select(*COLUMNS, halted).where(these))}


def _not_answered(request_id: str, fingerprint: str, row: Any, now: datetime) -> Item:
    if row is None:
        return Item(request_id, "not found", False, None, None)
    word = row.decision or word_of(row, now)
    if word == "pending" and row.shown != fingerprint:
        word = "not as shown"
    elif word == "pending" and row.halted:
        word = "halted"
    return Item(request_id, word, False, row.decided_by, row.principal_key)


def _not_answerable(session: Session, request_id: str, now: datetime) -> NotFound | Conflict:
    row = session.execute(select(*COLUMNS).where(ApprovalRow.id == request_id)).first()
    if row is None:
        return NotFound("There is no such request. Nothing was decided. List them with: GET /approvals")
    word = row.decision or word_of(row, now)  # the first answer stands, whatever became of it since
    if word == "pending" and (brake := brakes.holding(session, row.principal_key)):
        return Conflict(f"{brake} Nothing was decided; the time to answer runs on. First: {brake.release}", "halted")
    if word == "pending":
        return Conflict("This request is not the one that you saw. Nothing was decided. Look at it again.", word)
    who = f" by {row.decided_by}" if row.decided_by else ""
    again = " The agent may ask again later." if word == "expired" else ""
    return Conflict(f"This request is {word}{who} already. Nothing was decided.{again}", state=word)
