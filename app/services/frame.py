"""What every page of the console shows around its own content: one statement."""

from dataclasses import fields
from datetime import datetime
from typing import cast

from msgspec import Struct
from sqlalchemy import Table, bindparam, func, literal, select, true
from sqlalchemy.orm import Session

from app.runtime.instants import to_text
from app.runtime.tools.brakes import Brake
from app.services import watch
from db.schema import ApprovalRow, BrakeRow

WAITING_MAX = 100  # counted no further
approvals, brakes = cast("Table", ApprovalRow.__table__), cast("Table", BrakeRow.__table__)
ANSWERABLE = (approvals.c.ended.is_(None), approvals.c.decision.is_(None), approvals.c.expires_at > bindparam("now"))
SOME = select(approvals.c.id).where(*ANSWERABLE).limit(WAITING_MAX).subquery("waiting")
FRAME = (  # built once: every page runs it
    select(select(func.count()).select_from(SOME).scalar_subquery(), *watch.COLUMNS)
    .add_columns(*(brakes.c[field.name] for field in fields(Brake)))
    .select_from(select(literal(1)).subquery("always").outerjoin(brakes, true()))
    .order_by(brakes.c.agent)
)


class Frame(Struct, frozen=True):
    """How many requests wait for an answer (at most `WAITING_MAX`), the brakes that are on, and `watch.stamp`."""

    waiting: int
    seen: str
    brakes: list[Brake]


def frame(session: Session, now: datetime) -> Frame:
    rows = session.execute(FRAME, {"now": to_text(now)}).all()
    waiting, *seen = rows[0][: 1 + len(watch.COLUMNS)]
    found = [Brake(*row[1 + len(watch.COLUMNS) :]) for row in rows]
    return Frame(waiting, watch.text_of(seen), [brake for brake in found if brake.agent])
