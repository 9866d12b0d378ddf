"""The forms of the inbox, as they come in."""

from datetime import UTC, date, datetime, time
from typing import Annotated, Literal
from urllib.parse import urlencode

from msgspec import Meta, Struct

from app.domain import Invalid
from app.runtime.instants import to_text
from app.schemas import Decision, Reason, Tab

MANY = 50  # requests that a page names or answers at once
As = Literal["approve", "reject", "undo", ""]
Query = Annotated[str, Meta(max_length=200)]


class Here(Struct):
    """Where in the inbox somebody is: every form takes it along, and leads back there."""

    tab: Tab = "waiting"
    q: Query = ""
    after: Query = ""

    def link(self, **more: str) -> str:
        """The address of this place. What is empty is left out."""
        given = {"tab": "" if self.tab == "waiting" else self.tab, "q": self.q, "after": self.after, **more}
        query = urlencode({key: value for key, value in given.items() if value}, safe=",")
        return f"/?{query}" if query else "/"

    @property
    def first(self) -> str:
        return self.link(after="")


class Answer(Here):
    """`fingerprint` is of the request as it was shown: a form never answers another one."""

    reason: Reason = ""
    fingerprint: str = ""


class No(Answer):
    """How long it is remembered: `date` is a day, where `until` says so, and otherwise empty."""

    until: Literal["always", "window", "date"] = "always"
    date: str = ""


class Many(No):
    """One answer to several. Each of `requests` is an id and a fingerprint, with a blank between."""

    decision: Decision = "rejected"
    requests: list[str] | str = []

    @property
    def seen(self) -> list[tuple[str, str]]:
        """Raises Invalid where none was chosen, or too many."""
        chosen = [self.requests] if isinstance(self.requests, str) else self.requests
        if not 0 < len(chosen) <= MANY:
            raise Invalid(f"Select between 1 and {MANY} requests. Nothing was decided.")
        return [(id_, fingerprint) for id_, _, fingerprint in (one.partition(" ") for one in chosen)]


def until_at(no: No, now: datetime) -> str | None:
    """The last moment, in UTC, of the day that a no lasts to; None where no day is chosen. Raises Invalid."""
    if (no.until == "date") != bool(no.date):
        raise Invalid('Choose both "until a date" and a date, or neither. Nothing was decided.')
    return _end_of(no.date, now) if no.date else None


def _end_of(day: str, now: datetime) -> str:
    try:
        at = datetime.combine(date.fromisoformat(day), time.max, UTC)
    except ValueError:
        at = None
    if at is None or at.date().isoformat() != day:
        raise Invalid(f'"{day[:40]}" is no date. Nothing was decided. Choose a day that is in the calendar.')
    if at < now:
        raise Invalid(f"The day {day} is over (UTC). Nothing was decided. Choose today or a later day.")
    return to_text(at)
