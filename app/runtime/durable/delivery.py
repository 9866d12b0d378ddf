"""What became of the calls that wait? Steps 5 to 9 of the protocol: read the verdict, carry it out, tell the agent.

Every end is a conditional write whose row is the verdict. Where one gives no row, something changed: read again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import structlog

from app.runtime import invocation
from app.runtime.durable.ledger import Ledger, LedgerRow
from app.runtime.errors import Unreadable
from app.runtime.instants import Clock
from app.runtime.steps import Step, reached
from app.runtime.tools.approvals import Approval, ApprovalStore, claim_of
from app.runtime.tools.gate import end_reason
from app.runtime.tools.pipeline import Caller, Pipeline
from app.runtime.tools.results import Done

RETRIES_MAX = 10  # in one turn; the rest follow in a turn of their own
STATEMENTS_SPARE = 5  # a row that was begun must be able to end
ROUNDS_MAX = 5  # no row needs more; one that does is left for a later turn
log = structlog.get_logger()


Ran = Literal["ok", "failed"] | None


@dataclass(frozen=True, slots=True)
class Settled:
    """What the agent hears about a call that waited, at least once.

    `status` is what became of the question; `ran` is what became of the call itself: None when it was never made.
    """

    request_id: str
    tool: str
    status: Literal["approved", "rejected", "expired", "cancelled", "unknown"]
    arguments: dict[str, Any]
    ran: Ran
    reason: str | None
    until: str | None
    asked_at: str
    decided_at: str | None  # None when nobody answered


Tell = Callable[[Settled], Awaitable[None]]  # runs the hook; its state and the row's deletion are one transaction
Move = Literal["fence", "keep", "lapse", "retry", "tell"]


def next_move(approval: Approval | None) -> Move:
    """What a ledger row needs, from how its approval stands."""
    if approval is None:
        return "fence"
    if approval.halted and approval.status in ("approved", "spent"):
        return "keep"
    moves: dict[str, Move] = {"pending": "keep", "lapsed": "lapse", "approved": "retry", "spent": "retry"}
    return moves.get(approval.status, "tell")


class Delivery:
    def __init__(
        self,
        ledger: Ledger,
        store: ApprovalStore,
        pipeline: Pipeline,
        caller: Caller,
        clock: Clock,
        tell: Tell,
        stopping: Callable[[], bool],
    ) -> None:
        self._ledger, self._store, self._pipeline, self._caller = ledger, store, pipeline, caller
        self._clock, self._tell, self._stopping = clock, tell, stopping

    async def deliver(self, ids: list[str]) -> None:
        """Take each waiting call as far as it goes now. One that fails is looked at again later and stops no other."""
        rows = self._ledger.rows(ids)
        if not rows:
            return
        approvals = await self._store.statuses([row.request_id for row in rows], self._clock())
        retries = 0
        for position, row in enumerate(rows):
            if self._stopping():
                return  # the next start finds what was answered
            approval = approvals.get(row.request_id)
            retry = next_move(approval) == "retry"
            if (retry and retries == RETRIES_MAX) or _statements_left() < STATEMENTS_SPARE:
                self._ledger.check_soon([later.request_id for later in rows[position:]], self._clock(), 1.0)
                return
            retries += retry
            try:
                await self._deliver(row, approval)
            except Exception as error:  # one row must not stop the others, nor lose its place
                unreadable = isinstance(error, Unreadable)
                log.error("delivery_failed", request_id=row.request_id, why=str(error), exc_info=not unreadable)
                self._try_later(row, None if unreadable else approval)

    def _try_later(self, row: LedgerRow, approval: Approval | None) -> None:
        """In 30 s, 60 s … A yes that was not spent yet starts anew: its wait for a person was no failure."""
        unspent = approval is not None and approval.status == "approved"
        self._ledger.check_again(replace(row, checks=0) if unspent else row, self._clock(), None)

    async def _deliver(self, row: LedgerRow, approval: Approval | None) -> None:
        arguments = await self._ledger.open(row)
        for _ in range(ROUNDS_MAX):
            move = next_move(approval)
            if move == "keep":
                break
            if await (self._carry_out(move, row, approval, arguments) if approval else self._fence(row)):
                return
            approval = (await self._store.statuses([row.request_id], self._clock())).get(row.request_id)
        ahead = approval is not None and approval.status != "spent"  # what is spent has no deadline any more
        self._ledger.check_again(row, self._clock(), approval.deadline if approval and ahead else None)

    async def _carry_out(self, move: Move, row: LedgerRow, approval: Approval, arguments: dict[str, Any]) -> bool:
        """True when the row is dealt with; False when its approval must be read again."""
        times = (approval.asked_at, approval.decided_at)
        event = Settled(row.request_id, row.tool, "unknown", arguments, None, approval.reason, approval.until, *times)
        if move == "retry":
            return await self._retry(row, approval, event)
        if move == "lapse":
            if not await self._store.lapse(row.request_id, self._clock()):
                return False
            reached(Step.ENDED)
            event = replace(event, status="expired", reason=None)
        elif approval.status == "used":
            event = replace(event, status="approved", ran="ok", reason=None)
        else:
            ran: Ran = "failed" if approval.status == "cancelled" and approval.spent else None
            event = replace(event, status=approval.status, ran=ran)  # type: ignore[arg-type]  # an ended status
        await self._settle(event)
        return True

    async def _fence(self, row: LedgerRow) -> bool:
        """It was never asked, as far as we know. A late insert must not appear behind us."""
        principal = self._caller.principal.key
        if not await self._store.fence(row.request_id, row.tool, principal, self._clock()):
            return False
        reached(Step.FENCED)
        self._ledger.forget(row.request_id)
        return True

    async def _retry(self, row: LedgerRow, approval: Approval, event: Settled) -> bool:
        """The original call again, under its spent approval. Nothing is settled unless the route has answered."""
        if refused := self._pipeline.out_of_scope(self._caller, row.tool):
            return await self._end(event, "cancelled", f"refused: {refused.message}", None)
        repeatable = self._pipeline.catalog.get(row.tool).repeatable
        if approval.spent and not repeatable:
            return await self._end(event, "unknown", "cut off: it may have run", None)
        claim_id = claim_of(self._caller.principal.key, row.request_id)
        if not await self._store.consume(row.request_id, claim_id, self._clock()):
            return False
        reached(Step.CONSUMED)
        result = await self._pipeline.resume(self._caller, row.tool, event.arguments, row.request_id)
        reached(Step.DISPATCHED)
        if not isinstance(result, Done):
            self._try_later(row, approval)
            return True
        if not result.outcome.is_error:
            if not repeatable:  # else the route has ended it, in the statement that did the work
                await self._store.end(row.request_id, "carried out", self._clock(), "used")
            await self._settle(replace(event, status="approved", ran="ok", reason=None))
            return True
        return await self._end(event, "cancelled", end_reason(result.outcome), "failed")

    async def _end(self, event: Settled, ended: Literal["cancelled", "unknown"], reason: str, ran: Ran) -> bool:
        if not await self._store.end(event.request_id, reason, self._clock(), ended):
            return False
        reached(Step.ENDED)
        await self._settle(replace(event, status=ended, ran=ran, reason=reason))
        return True

    async def _settle(self, event: Settled) -> None:
        await self._tell(event)
        reached(Step.SETTLED)
        if event.ran is None:
            why = f"{event.status}: {event.reason}" if event.reason else event.status
            self._pipeline.dropped(self._caller, event.tool, event.request_id, why)


def _statements_left() -> int:
    current = invocation.current()
    return current.left if current else invocation.STATEMENT_LIMIT
