"""History. Every service writes its event after the change, in the same call."""

from datetime import datetime
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from app.runtime import invocation
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from db.schema import EventRow


def record(
    session: Session,
    *,
    subject: str,
    kind: str,
    by: Principal,
    now: datetime,
    request_id: str | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """`subject` is what changed, as `ticket:41`; `data` says how."""
    session.execute(
        insert(EventRow).values(
            subject=subject,
            kind=kind,
            actor=by.key,
            request_id=request_id,
            trace_id=invocation.trace_id(),
            data=data or {},
            at=to_text(now),
        )
    )
