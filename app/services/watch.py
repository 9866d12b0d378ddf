"""What a live page follows: a short text that is another one as soon as something the console shows has changed."""

from collections.abc import Iterable
from typing import cast

from sqlalchemy import Table, func, literal_column, select
from sqlalchemy.orm import Session

from db.schema import ApprovalRow, EventRow

approvals, events = cast("Table", ApprovalRow.__table__), cast("Table", EventRow.__table__)
# The newest event, the newest request, and how many have no end: not every end writes an event.
COLUMNS = (
    select(func.max(events.c.id)).scalar_subquery(),
    select(func.max(literal_column("rowid"))).select_from(approvals).scalar_subquery(),
    select(func.count()).select_from(approvals).where(approvals.c.ended.is_(None)).scalar_subquery(),
)
STAMP = select(*COLUMNS)


def stamp(session: Session) -> str:
    """As `512-40-2`. It costs the same whatever is stored."""
    return text_of(session.execute(STAMP).one())


def text_of(numbers: Iterable[int | None]) -> str:
    return "-".join(str(number or 0) for number in numbers)
