"""The requests to people, tab by tab, each with its ticket as it is now."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from sqlalchemy.orm import Session

from app.schemas import Card, Tab, TicketNow
from app.services import approvals

__all__ = ["Card", "Queue", "Tab", "TicketNow", "queue"]


class Queue(Struct):
    """A page of a tab. `next` is the `after` of the following one, null on the last."""

    cards: list[Card]
    next: str | None


def queue(
    session: Session,
    tab: Tab,
    now: datetime,
    *,
    search: str | None = None,
    after: str | None = None,
    shown: Sequence[str] = (),
    limit: int = 20,
) -> Queue:
    page = approvals.listing(session, now)  # for now: the oldest of the first tab
    return Queue([Card(one, None, None, None, None) for one in page.pending or ()], None)
