"""What every page of the console shows around its own content: one statement."""

from datetime import datetime

from msgspec import Struct
from sqlalchemy import and_, func, literal, select, true
from sqlalchemy.orm import Session

from app.runtime.instants import to_text
from app.runtime.tools.brakes import Brake
from app.services import brakes, watch
from db.schema import ApprovalRow, BrakeRow

WAITING_MAX = 100  # counted no further


class Frame(Struct, frozen=True):
    """How many requests wait for an answer (at most `WAITING_MAX`), the brakes that are on, and `watch.stamp`."""

    waiting: int
    seen: str
    brakes: list[Brake]


def frame(session: Session, now: datetime) -> Frame:
    answerable = and_(
        ApprovalRow.ended.is_(None), ApprovalRow.decision.is_(None), ApprovalRow.expires_at > to_text(now)
    )
    some = select(ApprovalRow.id).where(answerable).limit(WAITING_MAX).subquery()
    count = select(func.count()).select_from(some).scalar_subquery()
    one = select(literal(1)).subquery()
    rows = session.execute(
        select(count, *watch.COLUMNS, *brakes.COLUMNS)
        .select_from(one.outerjoin(BrakeRow, true()))
        .order_by(BrakeRow.agent)
    ).all()
    waiting, *seen = rows[0][: 1 + len(watch.COLUMNS)]
    found = [Brake(*row[1 + len(watch.COLUMNS) :]) for row in rows]
    return Frame(waiting, watch.text_of(seen), [brake for brake in found if brake.agent])
