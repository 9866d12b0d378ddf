"""Gate 4 for a caller that keeps no ledger: a program at /mcp, a person at a shell. It repeats its call instead.

The same approval rows, and the same writes as when an agent's answer is delivered, steps 4 to 8 of the protocol. What
its own rows of this very call say comes first: a call that was carried out is never told anything else.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from app.runtime.instants import Clock, to_text
from app.runtime.steps import Step, reached
from app.runtime.tools import gate
from app.runtime.tools.approvals import Approval, ApprovalStore, InTheWay, NewRequest, Status, claim_of
from app.runtime.tools.companions import told_used
from app.runtime.tools.results import Denied, Done, Pending, ToolResult

FINISH_WITHIN = timedelta(hours=24)  # of the consume; a repeat that comes later finds it given up
LATE = "not carried out within 24 h of its start"
ROUNDS_MAX = 5  # no call needs more, unless another keeps changing what it finds


@dataclass(frozen=True, slots=True)
class DirectCall:
    """One call, as the pipeline lends it. `rehearse` runs nothing; `run` carries it out under a spent request."""

    tool: str
    repeatable: bool
    fingerprint: str
    principal_key: str
    rehearse: Callable[[], Awaitable[ToolResult]]
    run: Callable[[str], Awaitable[ToolResult]]
    question: Callable[[str, dict[str, Any]], NewRequest]  # from an id, and what the rehearsal said would change


class DirectGate:
    def __init__(self, store: ApprovalStore, clock: Clock, new_id: Callable[[], str], notify: gate.Notify) -> None:
        self._store, self._clock, self._new_id, self._notify = store, clock, new_id, notify

    async def call(self, call: DirectCall) -> ToolResult:
        """Each step answers, or finds that something changed under it: then the rows are read again."""
        for _ in range(ROUNDS_MAX):
            met = await self._look(call)
            answer = await (self._meet(call, met) if met else self._ask(call))
            if answer is not None:
                return answer
        return Denied("approval", "Others are busy with this very call. Nothing was executed. Try again in a minute.")

    async def _look(self, call: DirectCall) -> Approval | None:
        return await self._store.own(call.principal_key, call.tool, call.fingerprint, self._clock())

    async def _ask(self, call: DirectCall) -> ToolResult | None:
        rehearsal = await call.rehearse()
        if not isinstance(rehearsal, Done) or rehearsal.outcome.is_error:
            # Refused, because this very call has run meanwhile? Then that is the answer.
            return None if await self._look(call) else rehearsal
        question = call.question(self._new_id(), rehearsal.outcome.body)
        met = await self._store.ask(question, self._clock())
        if met is not None:
            return await self._meet(call, met)
        reached(Step.ASKED)
        self._notify(question)
        return Pending(question.id, call.tool, "A person has been asked. Nothing was executed.")

    async def _meet(self, call: DirectCall, met: InTheWay) -> ToolResult | None:
        if not isinstance(met, Approval):
            return gate.refusal(met)
        match met.status:
            case "pending":
                return Pending(met.id, call.tool, "A person was asked earlier. Nothing was executed.")
            case "approved" | "spent":
                return await self._carry_out(call, met)
            case "lapsed":
                if await self._store.lapse(met.id, self._clock()):
                    reached(Step.ENDED)
                return None
            case "used":
                return told_used(met.id)
            case _:
                return gate.refusal(met)

    async def _carry_out(self, call: DirectCall, met: Approval) -> ToolResult | None:
        """Under a claim that follows from the request, so that a repeat finishes what a crash cut off."""
        if met.consumed_at and met.consumed_at <= to_text(self._clock() - FINISH_WITHIN):
            return await self._end(met, LATE, Denied("approval", f"Request {met.id} was {LATE}. Ask again."))
        if met.halted:
            return Denied("halted", "A brake holds this call. Nothing was executed. To let it go on: triager resume")
        if met.spent and not call.repeatable:
            return await self._end(met, "cut off", None, "unknown")
        if not await self._store.consume(met.id, claim_of(call.principal_key, met.id), self._clock()):
            return None
        reached(Step.CONSUMED)
        result = await call.run(met.id)
        reached(Step.DISPATCHED)
        if not isinstance(result, Done) or not result.outcome.is_error:
            if isinstance(result, Done) and not call.repeatable:
                await self._end(met, "carried out", None, "used")
            return result
        return await self._end(met, gate.end_reason(result.outcome), result)

    async def _end(
        self, met: Approval, reason: str, answer: ToolResult | None, ended: Status = "cancelled"
    ) -> ToolResult | None:
        if not await self._store.end(met.id, reason, self._clock(), ended):
            return None
        reached(Step.ENDED)
        return answer
