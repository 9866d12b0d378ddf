"""The words everybody needs: what a ticket can be, the limits, and how a rule of the app says no.

Imports nothing of ours, so every floor may use it.
"""

import re
from enum import StrEnum
from typing import ClassVar, NewType, Self

MAX_ID = 2**53 - 1  # the largest integer every JSON reader keeps exact
TITLE_MAX = 256  # characters
TEXT_MAX = 20_000  # characters, of a body or a comment
NAME_MAX = 120  # characters, of a requester, assignee, label or person
PAGE_MAX = 100  # rows
CONTROL = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"  # within [] of a pattern: ends lines, drives terminals
MISLEADING = re.compile(rf"[{CONTROL}\u00ad\u200b\u202a-\u202e\u2060-\u2069\ufeff]")  # and what reorders or hides
COUNT_MAX = 1_000  # open and stale tickets are counted no further; the report then says "at least"


class Status(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


class Priority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class Category(StrEnum):
    BILLING = "billing"
    BUG = "bug"
    ACCOUNT = "account"


class Speaker(StrEnum):
    """Who said the last public word on a ticket; NONE when nobody did, or nobody knows."""

    REQUESTER = "requester"
    OPERATOR = "operator"
    NONE = "none"


class Sort(StrEnum):
    """The order of a list of tickets, total in each case."""

    ID = "id"  # lowest first
    NEWEST = "newest"  # highest id first
    QUIETEST = "quietest"  # longest without activity first, then lowest id


VERDICTS = {  # what a sweep decides about a ticket, as every surface says it to people; the agent's word is the key
    "ask": "would be asked",
    "asked": "asked",
    "refused": "could not be asked",
    "done": "closed now",
    "waiting": "asked already",
    "withdraw": "taken back",
    "later": "left for later",
    "closed": "closed already",
    "protected": "protected",
    "exempt": "exempt",
    "active": "active",
    "waiting on us": "waits for our reply",
    "declined": "kept open",
    "cooling": "left alone",
}


class TicketId(int):
    """A ticket's number, 1 to 2^53-1."""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The id written as canonical digits: no sign, no leading zero, ASCII only. Raises NotFound otherwise."""
        canonical = text.isascii() and text.isdigit() and not text.startswith("0") and len(text) <= len(str(MAX_ID))
        if not canonical or int(text) > MAX_ID:
            raise NotFound(f'There is no ticket "{text[:40]}". Nothing was changed. List them with: GET /tickets')
        return cls(text)


OperationId = NewType("OperationId", str)  # the id of the approval that a gated call spends


class Refusal(Exception):
    """A rule of the app says no: what happened, that nothing was executed, and the next step. Not a bug."""

    status: ClassVar[int] = 400


class NotFound(Refusal):
    status = 404


class Conflict(Refusal):
    """The thing is there, but no longer as the caller saw it. `state` is the word it has now."""

    status = 409

    def __init__(self, message: str, state: str | None = None) -> None:
        super().__init__(message)
        self.state = state


class Invalid(Refusal):
    """What was sent has the right shape, and still cannot be meant."""

    status = 422


class Unavailable(Refusal):
    """Not now; the same call may go through later."""

    status = 503


def plain(text: str) -> str:
    """Somebody's words, within a sentence of ours: what would reorder, hide or break it stands there as escapes."""
    return MISLEADING.sub(lambda found: _escaped(found[0]), text)


def printable(text: str) -> str:
    """As it may stand on a terminal: control, hidden and reordering characters as escapes."""
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode()
