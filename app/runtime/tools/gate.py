"""Gate 4 of the pipeline: a person is asked before this call may run. Steps 1 to 4 of the protocol.

In an order in which a crash between any two writes costs a needless wake, never a lost or doubled question: the
caller's own ledger first (with its alarm), then the approval row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from app.runtime.steps import Step, reached
from app.runtime.tools.approvals import CHANGED, LIVE, Approval, ApprovalStore, Full, InTheWay, NewRequest
from app.runtime.tools.brakes import Brake
from app.runtime.tools.redact import redact_text
from app.runtime.tools.results import Denied, Outcome, Pending, ToolResult

CONFLICT = 409
Notify = Callable[[NewRequest], None]


@dataclass(frozen=True, slots=True)
class ParkedCall:
    """A call that waits for a person, as its caller's ledger keeps it."""

    request_id: str
    tool: str
    subject: str
    fingerprint: str
    arguments: dict[str, Any] | None  # None where no key opens them


class Parking(Protocol):
    """What the gate needs of its caller's ledger. Each method is one transaction in the caller's own database."""

    def waiting(self, tool: str, fingerprint: str) -> str | None:
        """The request id under which this very call waits already."""

    async def intend(self, call: ParkedCall, now: datetime) -> None:
        """The row, and the alarm that will ask what became of it."""

    async def adopt(self, request_id: str, adopted_id: str) -> None:
        """The row of `request_id` becomes the row of `adopted_id`, merging with one that is there."""

    def forget(self, request_id: str) -> None: ...


async def ask(parking: Parking, store: ApprovalStore, notify: Notify, request: NewRequest, now: datetime) -> ToolResult:
    """Step 4. The intent is written and the rehearsal has passed: put the question, or meet what is in the way."""
    in_the_way = await store.ask(request, now)
    if in_the_way is None:
        reached(Step.ASKED)
        notify(request)
        return Pending(request.id, request.tool, "A person has been asked. Nothing was executed.")
    if isinstance(in_the_way, Approval) and in_the_way.status in LIVE:
        await parking.adopt(request.id, in_the_way.id)
        return Pending(in_the_way.id, request.tool, "A person was asked earlier. Nothing was executed.")
    parking.forget(request.id)
    return refusal(in_the_way)


def halted(brake: Brake) -> Denied:
    return Denied("halted", f"{brake} Nothing was executed. To let it go on: {brake.release}")


def refusal(met: InTheWay) -> Denied:
    if isinstance(met, Brake):
        return halted(met)
    if isinstance(met, Full):
        message = f"Waiting for people: {met.open} requests are open. Nothing was executed. Ask again once some ended."
        return Denied("approval", message, at_limit=True)
    if met.status == "rejected":
        reason = met.reason or "no reason given"
        message = f"A person has rejected this call: {reason}. Nothing was executed. Do not repeat it."
        return Denied("approval", message, rejected=True, until=met.until)
    message = f"Request {met.id} for this very call has ended as {met.status}. Nothing was executed. Look at it again."
    return Denied("approval", message)


def end_reason(refusal: Outcome) -> str:
    """Why a request ends whose call the route refused, whoever made it."""
    return CHANGED if refusal.status == CONFLICT else f"refused: {redact_text(refusal.message)}"
