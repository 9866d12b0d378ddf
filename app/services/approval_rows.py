"""How an approval stands at a moment, and as people read it. Before an end is written, that follows from the clock."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, text

from app.runtime.instants import to_text
from app.runtime.tools.approvals import Status
from app.schemas import ApprovalOut
from db.schema import ApprovalRow

TOLD_WITHIN = timedelta(hours=2)  # a ledger looks every hour: what ended longer ago has been told
COLUMNS = [column for column in ApprovalRow.__table__.columns if column.name not in ("fingerprint", "trace_id")]
SAME = [name for name in ApprovalOut.__struct_fields__ if name not in ("status", "principal", "fingerprint")]


def status_of(row: Any, now: datetime) -> Status:
    """From the columns decision, expires_at, use_by, claim_id and ended of any row of approvals."""
    if row.ended:
        ended: Status = row.ended
        return ended
    if row.claim_id:
        return "spent"
    waiting: Status = "approved" if row.decision else "pending"
    return waiting if deadline_of(row) > to_text(now) else "lapsed"


def deadline_of(row: Any) -> str:
    """When the answer, or the use of a yes, is due."""
    deadline: str = row.use_by or row.expires_at
    return deadline


def word_of(row: Any, now: datetime) -> str:
    """The status for people: a call being carried out is still approved, one whose time is over has expired."""
    status = status_of(row, now)
    return {"spent": "approved", "lapsed": "expired"}.get(status, status)


def approval_out(row: Any, now: datetime) -> ApprovalOut:
    """A row of COLUMNS."""
    fields = {name: getattr(row, name) for name in SAME}
    return ApprovalOut(**fields, status=word_of(row, now), principal=row.principal_key, fingerprint=row.shown)


def remembered(now: datetime) -> ColumnElement[bool]:
    """A no that still stands."""
    stands = or_(ApprovalRow.until_at.is_(None), ApprovalRow.until_at > to_text(now))
    return and_(ApprovalRow.ended == text("'rejected'"), ApprovalRow.superseded_at.is_(None), stands)
