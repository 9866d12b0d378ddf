"""How an approval stands at a moment. Before an end is written, that follows from the clock."""

from datetime import datetime, timedelta
from typing import Any

from app.runtime.instants import to_text
from app.runtime.tools.approvals import Status

TOLD_WITHIN = timedelta(hours=2)  # a ledger looks every hour: what ended longer ago has been told


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
