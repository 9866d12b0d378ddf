"""Gate 4's port: the store of questions to people. The approval row holds the verdict.

Every method is one atomic statement whose returned row is the answer, so a crash between two of them is harmless.
Implemented by `app/services/approval_store.py`.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal, Protocol

from app.runtime.registration import OPEN_REQUESTS
from app.runtime.tools.brakes import Brake

Status = Literal[
    "pending",  # nobody has answered, and there is time left
    "approved",  # answered yes, not spent yet, and there is time left
    "spent",  # the call is being carried out
    "lapsed",  # its time is over, but that is not written yet
    "used",
    "rejected",
    "expired",
    "cancelled",
    "unknown",
]
LIVE = frozenset({"pending", "approved", "spent", "lapsed"})
CHANGED = "changed since asked"  # the ended_reason of a request whose call met another version


@dataclass(frozen=True, slots=True)
class NewRequest:
    """A question about to be put to people. `input` is redacted; `subject` is what it is about, `ticket:41`."""

    id: str
    tool: str
    input: dict[str, Any]
    fingerprint: str
    principal_key: str
    subject: str
    preview: dict[str, Any]
    because: str | None = None  # why its caller asks, in its own words, redacted
    open_max: int = OPEN_REQUESTS  # that its principal may have, this one included
    refused_subject: str | None = None  # a no about this stands in the way, whatever call it was about

    @property
    def shown(self) -> str:
        """A hash of what people are shown. Not the call's fingerprint: that would let who sees it guess at a secret."""
        seen = (self.id, self.tool, self.input, self.principal_key, self.subject, self.preview, self.because)
        return sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Approval:
    """A request as it stands. `deadline` is when the answer, or the use of a yes, is due."""

    id: str
    status: Status
    deadline: str
    consumed_at: str | None  # when the call was begun, if it was
    reason: str | None  # why it ended
    until: str | None  # how long a rejection is remembered; None means always
    asked_at: str
    decided_at: str | None
    halted: bool = False  # a brake holds its principal: nothing may spend it

    @property
    def spent(self) -> bool:
        """The call was, or is being, carried out."""
        return bool(self.consumed_at)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A no that still stands. `until` is when it ends; None means never, unless a person presses "ask again"."""

    request_id: str
    until: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Full:
    """So many requests of one principal are open, and no more may be."""

    open: int


InTheWay = Approval | Brake | Full


def claim_of(principal_key: str, request_id: str) -> str:
    """The claim under which a caller spends its request: derived, so that after a crash the same one wins again."""
    return f"{principal_key}/{request_id}"


class ApprovalStore(Protocol):
    async def ask(self, request: NewRequest, now: datetime) -> InTheWay | None:
        """Insert unless something is in the way: None when people are asked now, else what is in the way.

        In the way is a request of the same principal for the same call that is unended, used, changed since asked, or
        rejected and remembered; a brake; that `open_max` requests of the principal have not ended.
        """

    async def statuses(self, ids: list[str], now: datetime, principal_key: str | None = None) -> dict[str, Approval]:
        """The requests that exist, by id; of this principal alone where one is given."""

    async def own(self, principal_key: str, tool: str, fingerprint: str, now: datetime) -> Approval | None:
        """What `ask` would find in the way of this call among the principal's own requests."""

    async def consume(self, request_id: str, claim_id: str, now: datetime) -> bool:
        """Spend a live yes of a principal that is not halted. The same claim id wins again after a crash, no other."""

    async def lapse(self, request_id: str, now: datetime) -> bool:
        """End as expired, if its time is over and it has not ended."""

    async def end(self, request_id: str, reason: str, now: datetime, ended: Status = "cancelled") -> bool:
        """End a request, if it has not ended: the route, or the caller's scopes, refuse its call.

        As used or unknown only that of a tool that cannot be repeated.
        """

    async def fence(self, request_id: str, tool: str, principal_key: str, now: datetime) -> bool:
        """Put a cancelled tombstone under an id that has no row, so that a late insert cannot appear behind us."""

    async def withdraw(self, ids: list[str], principal_key: str, reason: str, now: datetime) -> list[str]:
        """Cancel the caller's own unspent, unrejected requests. Returns the ids that are withdrawn now."""

    async def remembered(
        self, principal_key: str, tool: str, subjects: list[str], now: datetime
    ) -> dict[str, Rejection]:
        """The newest rejection of this caller's calls of the tool that still stands, by subject, where there is one."""

    async def undelivered(self, now: datetime) -> list[tuple[str, str]]:
        """(principal key, request id) of every answered request that has not ended, or only lately."""

    async def brakes(self) -> list[Brake]:
        """Every brake that is on."""
