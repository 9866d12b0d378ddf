"""What the story's own invocations cost: a sweep that asks, an answer, and the turn that carries the answer out."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.measure.furnished import SOMEBODY, Clock, Furnished
from app.measure.probe import Cost, Statement, cost, explained, peak_kb, spent, watching
from app.runtime.principal import Principal
from app.services import approvals
from config.triage import POLICY
from db.schema import ApprovalRow, TicketRow

ASKS: int = POLICY["max_asks_per_sweep"]
TRIAGER = Principal.agent("triager", "main")
# Statements, by what is done: see "What it costs" in README.
BUDGETS = {
    f"sweep, {ASKS} asks": 1 + 2 * ASKS,
    "wake, 1 approved": 3,
    f"wake, {ASKS} approved": 1 + 2 * ASKS,
    "wake, 1 drifted": 4,
    "wake, 1 expired": 2,
}


async def measure(house: Furnished, clock: Clock, repeat: int, wanted: tuple[str, ...] = ("",)) -> AsyncIterator[Cost]:
    """Each figure is taken `repeat` times, and once more for its memory."""
    acts = Acts(house, clock)
    for name, prepare in acts.named().items():
        if not name.startswith(wanted):
            continue
        times, most, act = [], list[Statement](), None
        for _ in range(repeat):
            act = await prepare()
            with watching() as seen:
                times.append(await spent(act))
            most = max([most, *(one.statements for one in seen)], key=len)
            await acts.settle()
        act = await prepare()
        peak = await peak_kb(act)
        await acts.settle()
        yield cost(name, BUDGETS[name], explained(house.system.settings.database, most), times, peak)


class Acts:
    """Each makes ready what its act needs, and returns the act. `settle` leaves nothing behind for the next one."""

    def __init__(self, house: Furnished, clock: Clock) -> None:
        self._house, self._clock, self._system = house, clock, house.system
        self._main = self._system.host.get("triager", "main")

    def named(self) -> dict[str, Any]:
        acts = (self.sweep, self.one_wake, self.full_wake, self.drifted_wake, self.expired_wake)
        return dict(zip(BUDGETS, acts, strict=True))

    async def sweep(self) -> Any:
        await self._only(ASKS)
        return self._sweep

    async def one_wake(self) -> Any:
        await self._asked(1)
        answered = await self._approve()
        return lambda: self._delivered(answered)

    async def full_wake(self) -> Any:
        await self._asked(ASKS)
        answered = await self._approve()
        return lambda: self._delivered(answered)

    async def drifted_wake(self) -> Any:
        await self._asked(1)
        answered = await self._approve()
        await self._system.db.write(_touch)
        return lambda: self._delivered(answered)

    async def expired_wake(self) -> Any:
        await self._asked(1)
        self._clock.at += timedelta(seconds=self._system.settings.approval_ttl_s + 1)
        waiting = await self._system.db.read(_unended)
        return lambda: self._delivered(waiting)

    async def settle(self) -> None:
        await self._delivered(await self._approve())
        await self._system.db.write(_close_all)
        self._clock.pass_minutes()

    async def _asked(self, number: int) -> None:
        await self._only(number)
        await self._sweep()

    async def _only(self, number: int) -> None:
        """So many tickets are open and stale, and no others."""
        await self._system.db.write(_close_all)
        await self._house.tickets(number)

    async def _sweep(self) -> None:
        await self._main.call("sweep")

    async def _approve(self) -> list[tuple[str, str]]:
        return await self._system.db.write(_approve_all, self._clock.at, self._system.settings.approval_use_ttl_s)

    async def _delivered(self, answered: list[tuple[str, str]]) -> None:
        self._system.host.wake(answered)
        await self._system.host.drain()


def _unended(session: Session) -> list[tuple[str, str]]:
    mine = (ApprovalRow.principal_key == TRIAGER.key, ApprovalRow.ended.is_(None))
    rows = session.execute(select(ApprovalRow.principal_key, ApprovalRow.id).where(*mine))
    return [(row.principal_key, row.id) for row in rows]


def _approve_all(session: Session, now: datetime, use_ttl_s: float) -> list[tuple[str, str]]:
    waiting = _unended(session)
    for _, request in waiting:
        approvals.approve(session, request, by=SOMEBODY, now=now, reason=None, use_ttl_s=use_ttl_s)
    return waiting


def _touch(session: Session) -> None:
    session.execute(update(TicketRow).where(TicketRow.status == "open").values(version=TicketRow.version + 1))


def _close_all(session: Session) -> None:
    session.execute(update(TicketRow).where(TicketRow.status == "open").values(status="closed"))
