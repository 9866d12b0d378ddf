"""What every page of the console shows around its own content: one statement."""

from datetime import datetime

from msgspec import Struct
from sqlalchemy import and_, func, literal, select, true
from sqlalchemy.orm import Session

from app.runtime.instants import to_text
from app.runtime.tools.brakes import Brake
from app.services import brakes
from db.schema import ApprovalRow, BrakeRow

WAITING_MAX = 100  # counted no further


class Frame(Struct, frozen=True):
    """How many requests wait for an answer (at most `WAITING_MAX`), and the brakes that are on."""

    waiting: int
    brakes: list[Brake]


def frame(session: Session, now: datetime) -> Frame:
    answerable = and_(
        ApprovalRow.ended.is_(None), ApprovalRow.decision.is_(None), ApprovalRow.expires_at > to_text(now)
    )
    some = select(ApprovalRow.id).where(answerable).limit(WAITING_MAX).subquery()
    count = select(func.count()).select_from(some).scalar_subquery()
    one = select(literal(1)).subquery()
    rows = session.execute(
        select(count, *brakes.COLUMNS).select_from(one.outerjoin(BrakeRow, true())).order_by(BrakeRow.agent)
    ).all()
    return Frame(rows[0][0], [Brake(*row[1:]) for row in rows if row[1] is not None])
