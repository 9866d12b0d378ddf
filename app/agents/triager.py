"""The triager: once an hour it looks at the stale tickets, and asks a person before it closes one."""

from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from app.agents.answers import Answers
from app.agents.policy import Policy
from app.agents.sweep_plan import Ticket, Verdict, because
from app.agents.sweep_report import Kept, Progress, Summary, outcomes, sum_up
from app.agents.sweep_view import CLOSE, Lookout, View
from app.runtime.durable.agent import Agent, Settled
from app.runtime.tools.results import Denied, ToolResult

DECLINED_KEPT, SETTLED_KEPT = 10_000, 20


class SettledRecord(Struct, frozen=True):
    request_id: str
    tool: str
    status: str
    retried: Literal["ok", "failed"] | None
    at: datetime


class TriagerState(Struct, frozen=True):
    """`declined`: tickets a person wants left open, until when (None: for good). `cooling`: nobody answered.

    A cache: the approval rows are the truth of it. The newest 10,000 are kept; one that is forgotten is met again as
    soon as the same version would be asked about.
    """

    declined: dict[int, datetime | None] = {}
    cooling: dict[int, datetime] = {}
    settled: tuple[SettledRecord, ...] = ()
    answers: Answers = Answers()


class Triager(Agent[TriagerState]):
    state_type = TriagerState
    reads = ("plan", "report", "overview", "verdicts")
    rpc = ("sweep", *reads)

    def __init__(self, **policy: Any) -> None:
        """The policy, from config/triage.py."""
        self.policy = msgspec.convert(policy, Policy)

    async def on_start(self) -> None:
        await self.schedule("0 * * * *", self.sweep)

    async def sweep(self) -> Summary:
        """One round: look, plan, withdraw what is moot, ask. A sweep that a crash broke off continues the same run."""
        run = self.runs.begin(self.now())
        lookout = self._lookout(run.taken)
        so_far, view = await self._survey(lookout)
        plan = lookout.plan(view)
        moot = [*plan.withdraw.values()]
        withdrawn = await self.tools.withdraw(moot, "the ticket has changed since") if moot else []
        self.runs.take(run, (*run.taken, *(ticket.id for ticket in plan.ask if ticket.id not in run.taken)))
        results = await self._ask(plan.ask)
        self._remember(view, results)
        told = outcomes(plan, withdrawn, results)
        kept = sum_up(self._last(), so_far, view, told, self.now())
        self.runs.finish(run, kept, self.now(), details=told.verdicts)
        return kept.summary

    async def plan(self) -> dict[str, Any]:
        """What a sweep would do now about which ticket, and why. Changes nothing."""
        lookout = self._lookout(self.runs.taken())
        _, view = await self._survey(lookout)
        if view.error:
            return {"open": None, "stale": None, "error": view.error, "verdicts": []}
        verdicts = lookout.plan(view).verdicts
        return {"open": view.open, "stale": view.stale, "error": None, "verdicts": verdicts}

    async def report(self) -> dict[str, Any]:
        """The last sweep and how far its pass is, what waits, what people have said, and who waits for us."""
        kept = self._last()
        waiting = [{"request_id": call.request_id, "subject": call.subject} for call in await self.tools.waiting()]
        return {
            "last_run_at": kept and kept.summary.at,
            "last_sweep": kept and kept.summary,
            "progress": kept and kept.progress,
            "waiting_on_us": (*kept.waiting_on_us, *kept.from_before) if kept else (),
            "parked": waiting,
            "declined": self.state.declined,
            "cooling": self.state.cooling,
            "settled": self.state.settled,
            "answers": self.state.answers.evidence(),
        }

    async def overview(self) -> dict[str, Any]:
        """The report, the policy it acts on, its jobs, what is used of its limits, and its sweeps, newest first."""
        used, calls = self.tools.budget()
        return {
            "report": await self.report(),
            "policy": self.policy,
            "jobs": self.jobs,
            "budget": {"calls": used, "calls_per_minute": calls, "room": self.tools.room()},
            "sweeps": [{"run": run, **structs.asdict(summary)} for run, summary in self.runs.kept(Summary).items()],
        }

    async def verdicts(self, run: int | None = None) -> list[Verdict] | None:
        """What that sweep, or the last, decided about each ticket it looked at, and why. None: it is not kept."""
        found: list[Verdict] | None = self.runs.details(run)
        return found if run else found or []

    async def on_tool_approval_settled(self, event: Settled) -> None:
        ticket_id, now = event.arguments["ticket_id"], self.now()
        declined, cooling = self.state.declined, self.state.cooling
        if event.status == "rejected":
            declined = _newest(declined, {ticket_id: _instant(event.until)})
        elif event.status == "expired":
            cooling = cooling | {ticket_id: now + timedelta(hours=self.policy.cool_down_hours)}
        record = SettledRecord(event.request_id, event.tool, event.status, event.ran, now)
        answers = self.state.answers.and_one(event.status, _instant(event.asked_at), _instant(event.decided_at))
        settled = (*self.state.settled, record)[-SETTLED_KEPT:]
        self.set_state(
            structs.replace(self.state, declined=declined, cooling=cooling, settled=settled, answers=answers)
        )

    def _lookout(self, begun: tuple[int, ...] = ()) -> Lookout:
        return Lookout(self.tools, self.policy, self.now(), self.state.declined, self.state.cooling, begun)

    def _last(self) -> Kept | None:
        report = self.runs.latest()
        return msgspec.convert(report, Kept) if report else None

    async def _survey(self, lookout: Lookout) -> tuple[Progress, View]:
        """The pass so far, and what a sweep sees from there. Where nothing is left of it, a new pass begins."""
        kept = self._last()
        if kept and kept.progress.next:
            view = await lookout.look(kept.progress.next)
            if view.stretch or view.error:
                return kept.progress, view
        return Progress(), await lookout.look(None)

    async def _ask(self, tickets: list[Ticket]) -> dict[int, ToolResult]:
        """The answers, up to the first that says to stop asking."""
        results: dict[int, ToolResult] = {}
        for ticket in tickets:
            call = {"ticket_id": ticket.id, "version": ticket.version}
            result = await self.tools.call(CLOSE, call, because=because(ticket, self.policy, self.now()))
            results[ticket.id] = result
            if isinstance(result, Denied) and result.stops:
                break
        return results

    def _remember(self, view: View, results: dict[int, ToolResult]) -> None:
        """Refusals that were met, and not those that stand no more."""
        met = {
            ticket_id: _instant(result.until)
            for ticket_id, result in results.items()
            if isinstance(result, Denied) and result.rejected
        }
        over = {ticket.id for ticket in view.stretch} - view.memory.declined.keys()
        declined = {number: until for number, until in self.state.declined.items() if number not in over}
        now, longest = self.now(), self.now() + timedelta(hours=self.policy.cool_down_hours)  # a clock may be set back
        cooling = {number: min(until, longest) for number, until in self.state.cooling.items() if until > now}
        state = structs.replace(self.state, declined=_newest(declined, met), cooling=cooling)
        if state != self.state:
            self.set_state(state)


def _newest(declined: dict[int, datetime | None], met: dict[int, datetime | None]) -> dict[int, datetime | None]:
    """The latest refusals last, and the oldest forgotten."""
    before = [(number, until) for number, until in declined.items() if number not in met]
    return dict([*before, *met.items()][-DECLINED_KEPT:])


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
