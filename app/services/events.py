"""History. Every service writes its event after the change, in the same call."""

import json
from datetime import datetime
from typing import Any

from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from app.runtime import invocation
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from db.schema import EventRow

OF_EACH = """
INSERT INTO events (subject, kind, actor, request_id, trace_id, data, at)
SELECT subject, :kind, :actor, id, :trace_id, :data, :at FROM approvals WHERE id IN (SELECT value FROM json_each(:ids))
"""


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


def record_each(
    session: Session, request_ids: list[str], *, kind: str, by: Principal, now: datetime, data: dict[str, Any]
) -> None:
    """The same event of each of these requests, in one statement."""
    given = {"kind": kind, "actor": by.key, "data": json.dumps(data), "at": to_text(now)}
    session.execute(text(OF_EACH), given | {"ids": json.dumps(request_ids), "trace_id": invocation.trace_id()})
