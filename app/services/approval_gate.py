"""The approvals as an agent's call meets them. Each write is one statement whose returned row is the verdict.

Spelled in SQL because the protocol is: see `app/runtime/tools/approvals.py` for what each promises.
"""

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.orm import Session

from app.runtime import invocation
from app.runtime.instants import after, to_text
from app.runtime.tools.approvals import CHANGED, Approval, Full, InTheWay, NewRequest, Rejection, Status
from app.runtime.tools.redact import redact_text
from app.services import brakes
from app.services.approval_rows import TOLD_WITHIN, deadline_of, status_of

IN_THE_WAY = """
principal_key = :principal_key AND tool = :tool AND fingerprint = :fingerprint AND (
  ended IS NULL OR ended IN ('used', 'unknown') OR ended_reason = :changed
  OR (ended = 'rejected' AND superseded_at IS NULL AND (until_at IS NULL OR until_at > :now)))
"""
STANDS = "ended = 'rejected' AND superseded_at IS NULL AND (until_at IS NULL OR until_at > :now)"
# Some tools' no to an agent is about the subject, whatever it looks like by now; else it is about that very call.
REFUSED = f"""
SELECT 1 FROM approvals INDEXED BY approvals_of_subject
WHERE subject = :refused_subject AND principal_key = :principal_key AND tool = :tool AND {STANDS}
"""  # noqa: S608 (constant text)
# By its index of what has not ended: the planner, left alone, counts among every request that the caller ever made.
OPEN = """
SELECT count(*) FROM approvals INDEXED BY approvals_live WHERE principal_key = :principal_key AND ended IS NULL
"""
ASK = f"""
INSERT INTO approvals
  (id, tool, input, fingerprint, principal_key, subject, preview, because, shown, requested_at, expires_at, trace_id)
SELECT :id, :tool, :input, :fingerprint, :principal_key, :subject, :preview, :because, :shown, :now, :expires_at,
  :trace_id
FROM (SELECT :principal_key AS principal_key)
WHERE NOT EXISTS (SELECT 1 FROM approvals WHERE {IN_THE_WAY}) AND NOT EXISTS ({REFUSED})
  AND NOT {brakes.HALTED} AND ({OPEN}) < :open_max
ON CONFLICT DO NOTHING RETURNING id
"""  # noqa: S608 (constant text)
STANDING = f"""
id, decision, reason, expires_at, use_by, claim_id, consumed_at, ended, ended_reason, until_at, requested_at,
decided_at,
{brakes.HALTED} AS halted
"""
CONSUME = f"""
UPDATE approvals SET claim_id = :claim_id, consumed_at = coalesce(consumed_at, :now)
WHERE id = :id AND decision = 'approved' AND ended IS NULL
  AND (claim_id = :claim_id OR (claim_id IS NULL AND use_by > :now)) AND NOT {brakes.HALTED}
RETURNING id
"""  # noqa: S608 (constant text)
LAPSE = """
UPDATE approvals SET ended = 'expired', ended_at = :now
WHERE id = :id AND ended IS NULL AND claim_id IS NULL AND coalesce(use_by, expires_at) <= :now
RETURNING id
"""
END = """
UPDATE approvals SET ended = :ended, ended_at = :now, ended_reason = :reason
WHERE id = :id AND ended IS NULL RETURNING id
"""
FENCE = """
INSERT INTO approvals (id, tool, input, fingerprint, principal_key, subject, preview, requested_at, expires_at,
  ended, ended_at, ended_reason)
VALUES (:id, :tool, '{}', '', :principal_key, '', '{}', :now, :now, 'cancelled', :now, 'never asked')
ON CONFLICT DO NOTHING RETURNING id
"""
WITHDRAW = f"""
UPDATE approvals SET ended = 'cancelled', ended_at = :now, ended_reason = :reason
WHERE id IN (SELECT value FROM json_each(:ids)) AND principal_key = :principal_key
  AND ended IS NULL AND claim_id IS NULL AND NOT {brakes.HALTED}
RETURNING id
"""  # noqa: S608 (constant text)
WITHDRAWN = """
INSERT INTO events (subject, kind, actor, request_id, trace_id, data, at)
SELECT subject, 'withdrawn', principal_key, id, :trace_id, json_object('reason', :reason), :now
FROM approvals WHERE id IN (SELECT value FROM json_each(:ids))
"""

# By its subjects: the planner, left alone, reads every request that the caller ever made.
REMEMBERED = f"""
SELECT subject, id, until_at, reason FROM approvals INDEXED BY approvals_of_subject
WHERE subject IN (SELECT value FROM json_each(:subjects)) AND principal_key = :principal_key AND tool = :tool
  AND {STANDS}
ORDER BY requested_at
"""  # noqa: S608 (constant text)
UNDELIVERED = """
SELECT principal_key, id FROM approvals
WHERE decision IS NOT NULL AND (ended IS NULL OR ended_at > :told) ORDER BY decided_at
"""


def ask(session: Session, request: NewRequest, now: datetime, ttl_s: float) -> InTheWay | None:
    """Insert first, look afterwards: None when people are asked now, else what is in the way."""
    call = {"principal_key": request.principal_key, "tool": request.tool, "fingerprint": request.fingerprint}
    at = to_text(now)
    row = {
        "id": request.id,
        "input": json.dumps(request.input),
        "subject": request.subject,
        "preview": json.dumps(request.preview),
        "because": request.because,
        "shown": request.shown,
        "expires_at": after(now, ttl_s),
        "trace_id": invocation.trace_id(),
        "open_max": request.open_max,
        "refused_subject": request.refused_subject,
    }
    if _verdict(session, ASK, **call, **row, changed=CHANGED, now=at):
        return None
    if met := own(session, **call, now=now):
        return met
    subjects = [request.refused_subject] if request.refused_subject else []
    for no in remembered(session, request.principal_key, request.tool, subjects, now).values():
        return statuses(session, [no.request_id], now)[no.request_id]
    if brake := brakes.holding(session, request.principal_key):
        return brake
    waiting = session.execute(text(OPEN), {"principal_key": request.principal_key}).scalar_one()
    if waiting >= request.open_max:
        return Full(waiting)
    return Approval(request.id, "cancelled", at, None, "try again", None, at, None)


def own(session: Session, principal_key: str, tool: str, fingerprint: str, now: datetime) -> Approval | None:
    """The request of this principal that is in the way of this call: the unended one, else the newest."""
    call = {"principal_key": principal_key, "tool": tool, "fingerprint": fingerprint}
    query = f"SELECT {STANDING} FROM approvals WHERE {IN_THE_WAY} ORDER BY ended IS NOT NULL, requested_at DESC LIMIT 1"  # noqa: S608 (constant text)
    met = session.execute(text(query), {**call, "changed": CHANGED, "now": to_text(now)}).first()
    return _approval(met, now) if met else None


def statuses(session: Session, ids: list[str], now: datetime, principal_key: str | None = None) -> dict[str, Approval]:
    query = f"""SELECT {STANDING} FROM approvals WHERE id IN (SELECT value FROM json_each(:ids))
                AND principal_key = coalesce(:principal_key, principal_key)"""  # noqa: S608 (constant text)
    rows = session.execute(text(query), {"ids": json.dumps(ids), "principal_key": principal_key})
    return {row.id: _approval(row, now) for row in rows}


def consume(session: Session, request_id: str, claim_id: str, now: datetime) -> bool:
    return _verdict(session, CONSUME, id=request_id, claim_id=claim_id, now=to_text(now))


def lapse(session: Session, request_id: str, now: datetime) -> bool:
    return _verdict(session, LAPSE, id=request_id, now=to_text(now))


def end(session: Session, request_id: str, reason: str, now: datetime, ended: Status = "cancelled") -> bool:
    return _verdict(session, END, id=request_id, reason=redact_text(reason), now=to_text(now), ended=ended)


def fence(session: Session, request_id: str, tool: str, principal_key: str, now: datetime) -> bool:
    return _verdict(session, FENCE, id=request_id, tool=tool, principal_key=principal_key, now=to_text(now))


def withdraw(session: Session, ids: list[str], principal_key: str, reason: str, now: datetime) -> list[str]:
    said = {"reason": f"withdrawn: {redact_text(reason)}", "now": to_text(now)}
    own = {"ids": json.dumps(ids), "principal_key": principal_key}
    withdrawn = [row.id for row in session.execute(text(WITHDRAW), said | own)]
    if withdrawn:
        trace = {"trace_id": invocation.trace_id()}
        session.execute(text(WITHDRAWN), said | trace | {"ids": json.dumps(withdrawn)})
    return withdrawn


def remembered(
    session: Session, principal_key: str, tool: str, subjects: list[str], now: datetime
) -> dict[str, Rejection]:
    call = {"principal_key": principal_key, "tool": tool, "subjects": json.dumps(subjects), "now": to_text(now)}
    rows = session.execute(text(REMEMBERED), call)  # the newest comes last, and stays
    return {row.subject: Rejection(row.id, row.until_at, row.reason) for row in rows}


def undelivered(session: Session, now: datetime) -> list[tuple[str, str]]:
    told = {"told": to_text(now - TOLD_WITHIN)}
    return [(row.principal_key, row.id) for row in session.execute(text(UNDELIVERED), told)]


def _verdict(session: Session, statement: str, **values: Any) -> bool:
    return session.execute(text(statement), values).first() is not None


def _approval(row: Row[Any], now: datetime) -> Approval:
    reason = row.ended_reason or row.reason
    times = (row.until_at, row.requested_at, row.decided_at)
    return Approval(
        row.id, status_of(row, now), deadline_of(row), row.consumed_at, reason, *times, halted=bool(row.halted)
    )
