"""The triager: once an hour it lists the stale tickets, and asks a person before it closes one."""

from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from app.agents.sweep_plan import Parked, Plan, Ticket, plan_sweep
from app.runtime.durable.agent import Agent, Run, Settled
from app.runtime.tools.results import Denied, Done, Pending, ToolResult, why

CLOSE = "tickets_close"
PAGE, PAGES_MAX = 100, 5
DECLINED_KEPT, SETTLED_KEPT = 10_000, 20


class SettledRecord(Struct, frozen=True):
    request_id: str
    tool: str
    status: str
    retried: Literal["ok", "failed"] | None
    at: datetime


class Summary(Struct, frozen=True):
    """Always stale = asked + closed + refused + deferred. `error` says why a sweep saw nothing."""

    at: datetime
    open: int
    stale: int
    asked: int
    closed: int
    refused: int
    deferred: int
    error: str | None = None


class TriagerState(Struct, frozen=True):
    """`declined`: tickets a person wants left open, until when (None: always). `cooling`: nobody answered."""

    last_run_at: datetime | None = None
    last_sweep: Summary | None = None
    declined: dict[int, datetime | None] = {}
    cooling: dict[int, datetime] = {}
    settled: tuple[SettledRecord, ...] = ()


class Listed(Struct, frozen=True):
    tickets: list[Ticket]
    open: int
    stale: int
    complete: bool
    error: str | None = None


class Triager(Agent[TriagerState]):
    state_type = TriagerState
    rpc = ("sweep", "report")

    def __init__(self, *, stale_after_days: int, max_asks_per_sweep: int, cool_down_hours: int) -> None:
        """The policy, from config/triage.py."""
        self.stale_after = timedelta(days=stale_after_days)
        self.max_asks = max_asks_per_sweep
        self.cool_down = timedelta(hours=cool_down_hours)

    async def on_start(self) -> None:
        await self.schedule("0 * * * *", self.sweep)

    async def sweep(self) -> Summary:
        """One round: list, plan, withdraw what is moot, ask. A sweep that a crash broke off continues the same run."""
        run = self.runs.begin(self.now())
        listed = await self._stale_tickets()
        parked = [
            Parked(call.request_id, int(call.subject.removeprefix("ticket:")), (call.arguments or {}).get("version"))
            for call in await self.tools.waiting()
            if call.tool == CLOSE
        ]
        plan = self._plan(listed, parked, run)
        if plan.withdraw:
            await self.tools.withdraw(plan.withdraw, "the ticket has changed since")
        self.runs.take(run, (*run.taken, *(ticket.id for ticket in plan.ask if ticket.id not in run.taken)))
        results = [
            (ticket, await self.tools.call(CLOSE, {"ticket_id": ticket.id, "version": ticket.version}))
            for ticket in plan.ask
        ]
        summary = _summarise(listed, [result for _, result in results], self.now())
        self._remember(results, summary)
        self.runs.finish(run, summary, self.now())
        return summary

    async def report(self) -> dict[str, Any]:
        """The state, and the calls that wait for a person."""
        waiting = [{"request_id": call.request_id, "subject": call.subject} for call in await self.tools.waiting()]
        return structs.asdict(self.state) | {"parked": waiting}

    async def on_tool_approval_settled(self, event: Settled) -> None:
        ticket_id = event.arguments["ticket_id"]
        declined, cooling = self.state.declined, self.state.cooling
        if event.status == "rejected":
            until = datetime.fromisoformat(event.until) if event.until else None
            declined = _newest({**declined, ticket_id: until})
        if event.status == "expired":
            cooling = cooling | {ticket_id: self.now() + self.cool_down}
        record = SettledRecord(event.request_id, event.tool, event.status, event.ran, self.now())
        settled = (*self.state.settled, record)[-SETTLED_KEPT:]
        self.set_state(structs.replace(self.state, declined=declined, cooling=cooling, settled=settled))

    async def _stale_tickets(self) -> Listed:
        """Every stale ticket in id order, as far as PAGES_MAX pages reach."""
        cutoff = self.now() - self.stale_after
        query = {"status": "open", "inactive_since": _text(cutoff), "limit": PAGE}
        tickets: list[Ticket] = []
        body: dict[str, Any] = {}
        for _ in range(PAGES_MAX):
            result = await self.tools.call("tickets_index", query | ({"after": body["next"]} if body else {}))
            if not isinstance(result, Done) or result.outcome.is_error:
                return Listed([], 0, 0, complete=False, error=why(result))
            body = result.outcome.body
            tickets += msgspec.convert(body["tickets"], list[Ticket])
            if body["next"] is None:
                break
        return Listed(tickets, body["open"], body["stale"], complete=body["next"] is None)

    def _plan(self, listed: Listed, parked: list[Parked], run: Run) -> Plan:
        return plan_sweep(
            listed.tickets,
            complete=listed.complete,
            parked=parked,
            declined=self.state.declined,
            cooling=self.state.cooling,
            now=self.now(),
            cap=self.max_asks,
            begun=run.taken,
        )

    def _remember(self, results: list[tuple[Ticket, ToolResult]], summary: Summary) -> None:
        """A sweep that meets a live rejection remembers it, so that it costs no call the next time."""
        met = {
            ticket.id: datetime.fromisoformat(result.until) if result.until else None
            for ticket, result in results
            if isinstance(result, Denied) and result.rejected
        }
        self.set_state(
            structs.replace(
                self.state,
                last_run_at=summary.at,
                last_sweep=summary,
                declined=_newest({**self.state.declined, **met}),
                cooling={ticket_id: at for ticket_id, at in self.state.cooling.items() if at > summary.at},
            )
        )


def _summarise(listed: Listed, results: list[ToolResult], now: datetime) -> Summary:
    asked = sum(isinstance(result, Pending) for result in results)
    closed = sum(isinstance(result, Done) and not result.outcome.is_error for result in results)
    refused = len(results) - asked - closed
    deferred = listed.stale - len(results)
    return Summary(now, listed.open, listed.stale, asked, closed, refused, deferred, listed.error)


def _newest(declined: dict[int, datetime | None]) -> dict[int, datetime | None]:
    return dict(list(declined.items())[-DECLINED_KEPT:])


def _text(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
