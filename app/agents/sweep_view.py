"""What does a sweep see? It reads through its tools, page by page, and changes nothing."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct, structs

from app.agents.policy import Policy
from app.agents.sweep_plan import Memory, No, Parked, Plan, Ticket, plan_sweep, to_text
from app.runtime.durable.agent import Tools
from app.runtime.tools.results import Done, why

CLOSE = "tickets_close"
PAGE, PAGES_MAX = 100, 5


class Page(Struct, frozen=True):
    tickets: list[Ticket]
    next: str | None
    open: int
    stale: int | None  # None where nothing was asked about it


class View(Struct, frozen=True):
    """The stale tickets from a place on, and what else waits for a person. `error` says why nothing was seen."""

    memory: Memory
    stretch: tuple[Ticket, ...] = ()
    others: list[Ticket] = []
    absent: list[int] = []
    more: bool = False  # tickets behind the stretch
    open: int = 0
    stale: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Lookout:
    """`declined` and `cooling` are the agent's memory; `begun` are the tickets its run took before a crash."""

    tools: Tools
    policy: Policy
    now: datetime
    declined: dict[int, datetime | None]
    cooling: dict[int, datetime]
    begun: tuple[int, ...] = ()

    async def look(self, after: str | None) -> View:
        """Reads on until there is enough to ask, but at most 5 pages."""
        view = View(await self._memory())
        quiet_since = to_text(self.now - timedelta(days=self.policy.stale_after_days))
        for _ in range(PAGES_MAX):
            query = {"status": "open", "inactive_since": quiet_since, "sort": "quietest"}
            page = await self._page(query | ({"after": after} if after else {}))
            if isinstance(page, str):
                return View(view.memory, error=page)
            seen = (*view.stretch, *page.tickets)
            view = structs.replace(view, stretch=seen, more=bool(page.next), open=page.open, stale=page.stale or 0)
            after = page.next
            if after is None or self.plan(view).left is not None:
                break
        return await self._with_others(await self._verified(view))

    def plan(self, view: View) -> Plan:
        return plan_sweep(
            view.stretch,
            view.others,
            absent=view.absent,
            memory=view.memory,
            policy=self.policy,
            now=self.now,
            room=self.tools.room(),
            begun=self.begun,
        )

    async def _memory(self) -> Memory:
        parked = {
            _number(call.subject): Parked(call.request_id, (call.arguments or {}).get("version"))
            for call in await self.tools.waiting()
            if call.tool == CLOSE
        }
        declined = {
            ticket_id: No(to_text(until) if until else None)
            for ticket_id, until in self.declined.items()
            if until is None or until > self.now
        }
        return Memory(parked, declined, self.cooling)

    async def _verified(self, view: View) -> View:
        """A person may have pressed "ask again": where a refusal is remembered, its row is asked whether it stands."""
        doubtful = [f"ticket:{ticket.id}" for ticket in view.stretch if ticket.id in view.memory.declined]
        if not doubtful:
            return view
        standing = await self.tools.rejections(CLOSE, doubtful)
        declined = {_number(subject): No(row.until, row.reason) for subject, row in standing.items()}
        return structs.replace(view, memory=view.memory._replace(declined=declined))

    async def _with_others(self, view: View) -> View:
        """What waits outside the stretch has changed most, if anything has."""
        seen = {ticket.id for ticket in view.stretch}
        missing = [ticket_id for ticket_id in view.memory.parked if ticket_id not in seen][:PAGE]
        if not missing:
            return view
        page = await self._page({"ids": ",".join(map(str, missing))})
        if isinstance(page, str):
            return View(view.memory, error=page)
        found = {ticket.id for ticket in page.tickets}
        return structs.replace(view, others=page.tickets, absent=[one for one in missing if one not in found])

    async def _page(self, query: dict[str, Any]) -> Page | str:
        """One page of the list, or why there is none."""
        result = await self.tools.call("tickets_index", query | {"limit": PAGE})
        if not isinstance(result, Done) or result.outcome.is_error:
            return why(result) or "the list was not answered"
        return msgspec.convert(result.outcome.body, Page)


def _number(subject: str) -> int:
    return int(subject.removeprefix("ticket:"))
