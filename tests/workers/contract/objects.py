"""The host of Durable Objects, under test: in workerd, beside the tests themselves.

Turns, storage, transactions, alarms and calls are the platform's own. The tests move a clock, which the platform has
not: so an alarm is set a hundred years later than it is due, and the test rings it, as the platform would.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import Any

from pyodide.ffi import run_sync
from sqlalchemy import delete
from sqlalchemy.orm import Session

from app.cloudflare.answers import taken
from app.cloudflare.instance import InstanceObject
from app.cloudflare.objects import ObjectHost
from app.cloudflare.webcrypto import WebCryptoCipher
from app.runtime.durable.agent import Agent
from app.runtime.durable.parts import Parts
from app.runtime.durable.storage import Row
from app.runtime.principal import Principal
from app.services import approvals
from db.engine import Database
from db.schema import ApprovalRow, EventRow
from tests.clock import Clock
from tests.support_parcels import parcel_parts

KEY = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
LATER_MS = 100 * 365 * 86_400_000
OPERATOR = Principal("operator", "1", "Ops On-Call", frozenset({"operate"}))
Name = tuple[str, str]  # agent, instance

current: list[Parts] = []  # what an object that wakes is made from: one isolate holds the tests and their objects
runs = count()


class Later:
    """`ctx.storage`, whose alarms the platform never comes to."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def setAlarm(self, ms: int) -> Any:  # noqa: N802 (the platform's name)
        return self._storage.setAlarm(ms + LATER_MS)


class Remote:
    """An object, which is told its agent: here all agents are of one class. A stub serves once: an abort breaks it."""

    def __init__(self, binding: Any, key: str, agent: str) -> None:
        self._binding, self._key, self._agent = binding, key, agent

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        return lambda *arguments: getattr(self._binding.getByName(self._key), name)(self._agent, *arguments)


class Objects:
    """See `tests/contract/host_under_test.py`."""

    def __init__(self, binding: Any, database: Database, clock: Clock) -> None:
        self.clock, self._database, self._run = clock, database, next(runs)
        self._binding = binding
        self._known: dict[Name, Remote] = {}
        self._ringing: set[Name] = set()
        self._broken_off: set[Name] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._to_evict = False

    async def start(self, **agents: type[Agent[Any]]) -> None:
        await self._database.write(_clear) if not self._known else await self.kill()
        current[:] = [parcel_parts(self._database, self.clock, WebCryptoCipher([KEY], "ledger", bytes), agents)]
        self._host = ObjectHost(current[0], self._namespace, self._go)
        await self._host.start()
        await self.ring()
        await self._drain()

    async def kill(self) -> None:
        for remote in self._known.values():
            with suppress(Exception):  # that is how a caller hears of it
                await remote.die()

    def evict(self) -> None:
        self._to_evict = True

    async def ring(self, **delta: float) -> int:
        await self._evicted()
        self.clock.advance(**delta)
        mine = [name for name in self._known if name not in self._ringing and name[0] in self._host.agents]
        self._ringing.update(mine)
        try:
            return sum(await asyncio.gather(*(self._ring(name, self._known[name]) for name in mine)))
        finally:
            self._ringing.difference_update(mine)

    async def _ring(self, name: Name, remote: Remote) -> int:
        at = await remote.alarm_at()
        due = at is not None and datetime.fromtimestamp(at / 1000, self.clock.at.tzinfo) <= self.clock.at
        if not due and name not in self._broken_off:
            return 0
        self._broken_off.discard(name)
        try:
            await remote.ring(name[1])
        except Exception:  # noqa: BLE001 (it was killed: the platform would ring it again)
            self._broken_off.add(name)
        return 1

    async def call(self, agent: str, instance: str, method: str) -> Any:
        await self._evicted()
        return await self._host.get(agent, instance).call(method)

    async def answer(self, agent: str, instance: str, request_id: str, *, wake: bool = True) -> None:
        await self._evicted()
        await self._database.write(
            approvals.approve, request_id, by=OPERATOR, now=self.clock.at, reason=None, use_ttl_s=86_400
        )
        if wake:
            self._host.wake([(Principal.agent(agent, instance).key, request_id)])
            await self._drain()

    def sql(self, agent: str, instance: str, query: str) -> list[Row]:
        run_sync(self._evicted())
        rows: list[Row] = taken(run_sync(self._namespace(agent).getByName(instance).look(query)))
        return rows

    def _namespace(self, agent: str) -> "_Namespace":
        return _Namespace(self, agent)

    def remote(self, agent: str, instance: str) -> Remote:
        name = (agent, instance)
        if name not in self._known:
            self._known[name] = Remote(self._binding, f"{self._run} {agent} {instance}", agent)
        return self._known[name]

    def _go(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _drain(self) -> None:
        await asyncio.gather(*self._background)

    async def _evicted(self) -> None:
        if self._to_evict:
            self._to_evict = False
            await self.kill()


class _Namespace:
    def __init__(self, host: Objects, agent: str) -> None:
        self._host, self._agent = host, agent

    def getByName(self, instance: str) -> Remote:  # noqa: N802 (the platform's name)
        return self._host.remote(self._agent, instance)


def instance_object(agent: str, storage: Any) -> InstanceObject:
    return InstanceObject(agent, current[0], Later(storage))


def _clear(session: Session) -> None:
    for table in (ApprovalRow, EventRow):
        session.execute(delete(table))


def a_clock() -> Clock:
    return Clock(datetime.fromisoformat("2026-03-09T12:00:00+00:00"))
