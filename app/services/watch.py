"""What a live page follows: a short text that is another one as soon as something the console shows has changed."""

from collections.abc import Iterable

from sqlalchemy import func, literal_column, select
from sqlalchemy.orm import Session

from db.schema import ApprovalRow, EventRow

# The newest event, the newest request, and how many have no end: not every end writes an event.
COLUMNS = (
    select(func.max(EventRow.id)).scalar_subquery(),
    select(func.max(literal_column("rowid"))).select_from(ApprovalRow).scalar_subquery(),
    select(func.count()).select_from(ApprovalRow).where(ApprovalRow.ended.is_(None)).scalar_subquery(),
)


def stamp(session: Session) -> str:
    """As `512-40-2`. It costs the same whatever is stored."""
    return text_of(session.execute(select(*COLUMNS)).one())


def text_of(numbers: Iterable[int | None]) -> str:
    return "-".join(str(number or 0) for number in numbers)
