"""The default host: agents in this process, a SQLite file per instance, one alarm index. Nothing else is needed."""

import asyncio
from collections.abc import Collection, Coroutine, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog

from app.runtime import invocation
from app.runtime.durable.alarms import ALARMS, DUE_MAX, Alarms, Due
from app.runtime.durable.awake import Awake, Name
from app.runtime.durable.instance import Instance
from app.runtime.durable.parts import MAIN, Parts
from app.runtime.durable.storage import SqliteStorage, Synchronous, file_of
from app.runtime.errors import AgentNotRegistered, Stopping
from app.runtime.instants import from_text, to_text

LOOK_MAX_S = 60.0  # the longest time between two looks at the clock: it may be set; set back by less is no matter
log = structlog.get_logger()


class EmbeddedHost:
    """Holds nothing open until `start`, `get(…).call` or `run_due` needs it. Call `close` in the end."""

    def __init__(self, folder: Path, parts: Parts, synchronous: Synchronous = "FULL") -> None:
        self._folder, self._parts, self._synchronous = folder, parts, synchronous
        self._awake = Awake(self._make)
        self._open_storages: dict[SqliteStorage, None] = {}
        self._alarms_opened: Alarms | None = None
        self._looked_at: datetime | None = None
        self._ringing: set[Name] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._running = self._stopping = False
        self._brakes = parts.pipeline.brakes

    @property
    def agents(self) -> Collection[str]:
        return self._parts.registrations.keys()

    def get(self, agent: str, instance: str) -> "EmbeddedStub":
        if agent not in self._parts.registrations:
            raise AgentNotRegistered(agent, sorted(self._parts.registrations))
        return EmbeddedStub(self, agent, instance)

    def wake(self, answered: Iterable[tuple[str, str]]) -> None:
        free = [one for one in answered if not self._brakes.halted(one[0])]
        for name, request_ids in self._parts.turns(free):
            self._go(self._wake(name, request_ids, invocation.trace_id()))

    async def start(self) -> None:
        """Main instances register their schedules; answers that nobody has carried out yet are delivered."""
        await self.follow_brakes()
        for agent in self._parts.registrations:
            self._alarms.arm(agent, MAIN, to_text(self._parts.clock()))
        self.wake(await self._parts.store.undelivered(self._parts.clock()))

    async def follow_brakes(self) -> None:
        """Alarms of a halted agent stand. Once it is let go, they ring if they are due; its answers are delivered."""
        before = self._brakes.agents
        await self._parts.follow_brakes()
        if before - self._brakes.agents:
            self.wake(await self._parts.store.undelivered(self._parts.clock()))
            self._changed.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Run what is due, as it comes due, until `stop`. An instance that is slow, or fails, holds up no other."""
        await self.start()
        self._running = True
        stopping = asyncio.create_task(stop.wait())
        while not stop.is_set():
            self._changed.clear()
            await self.follow_brakes()
            self._ring_due()
            changed = asyncio.create_task(self._changed.wait())
            await asyncio.wait({stopping, changed}, timeout=self._pause_s(), return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
        self._running = False
        await self.drain()

    def stop(self) -> None:
        """From now on no turn begins, and none goes on to another call or row: what is left is left for the next start.

        May be called at any moment, by the handler of a signal too.
        """
        self._stopping = True

    async def run_due(self, now: datetime) -> int:
        """One alarm turn for every instance whose alarm is due, and their end. Returns how many there were."""
        await self.follow_brakes()
        rung = self._ring_due(now)
        await self.drain()
        return rung

    async def drain(self) -> None:
        """Wait for the turns under way."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    def lag_s(self) -> float | None:
        """How late the most overdue alarm is, in seconds; 0 when none is due, None when `run` does not.

        What a brake holds is not late.
        """
        if not self._running:
            return None
        next_at = self._alarms.next_at(set(), self._brakes.agents)
        return max(0.0, (self._parts.clock() - from_text(next_at)).total_seconds()) if next_at else 0.0

    def close(self) -> None:
        self._awake.evict()
        if self._alarms_opened:
            self._alarms_opened.close()

    async def ring(self, agent: str, instance: str) -> None:
        """What its alarm would do, now; and every waiting call is looked at, whenever its next look is due.

        Raises Halted.
        """
        await self.follow_brakes()
        with self._awake.use(agent, instance) as awake:
            await awake.alarm()
            await awake.look(invocation.trace_id())

    async def pause(self, agent: str, instance: str, callback: str, key: str, note: str | None, by: str) -> bool:
        with self._awake.use(agent, instance) as awake:
            return await awake.pause(callback, key, note, by)

    async def call(self, agent: str, instance: str, method: str, *arguments: Any) -> Any:
        with self._awake.use(agent, instance) as awake:
            if awake.acts(method):
                await self.follow_brakes()
            return await awake.call(method, *arguments, trace=invocation.trace_id())

    def _make(self, agent: str, name: str) -> Instance:
        storage = SqliteStorage(self._folder / file_of(agent, name), self._synchronous, self._open_storages)

        def arm(at: str) -> None:
            self._alarms.arm(agent, name, at)
            self._changed.set()

        def set_alarm(at: str | None) -> None:
            self._alarms.set(agent, name, at)
            self._changed.set()

        return self._parts.instance(agent, name, storage, arm, set_alarm, lambda: self._stopping)

    @property
    def _alarms(self) -> Alarms:
        if self._alarms_opened is None:
            self._alarms_opened = Alarms(self._folder / ALARMS, self._synchronous)
        return self._alarms_opened

    def _ring_due(self, now: datetime | None = None) -> int:
        now = now or self._parts.clock()
        if self._looked_at and now < self._looked_at - timedelta(seconds=LOOK_MAX_S):
            self._alarms.look_at_all(now)
        self._looked_at = now
        due = [alarm for alarm in self._alarms.due(now, self._brakes.agents) if alarm.name not in self._ringing]
        due = due[: DUE_MAX - len(self._ringing)]
        for alarm in due:
            self._ringing.add(alarm.name)
            self._go(self._ring(alarm, now))
        return len(due)

    def _go(self, turn: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(turn)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ring(self, alarm: Due, now: datetime) -> None:
        try:
            with self._awake.use(*alarm.name) as instance:
                await instance.alarm()
        except Stopping:
            pass  # its alarm stands: it rings at the next start
        except Exception:
            log.exception("alarm_failed", agent=alarm.agent, instance=alarm.instance)
            self._alarms.failed(alarm, now)
        finally:
            self._ringing.discard(alarm.name)
            self._changed.set()

    async def _wake(self, name: Name, request_ids: list[str], trace: str | None) -> None:
        try:
            with self._awake.use(*name) as instance:
                await instance.wake(request_ids, trace)
        except Stopping:
            pass  # the next start wakes for every answer that is not carried out
        except Exception:
            log.exception("wake_failed", agent=name[0], instance=name[1])  # the ledger's alarm will find them

    def _pause_s(self) -> float:
        full = len(self._ringing) >= DUE_MAX
        next_at = None if full else self._alarms.next_at(self._ringing, self._brakes.agents)
        if next_at is None:
            return LOOK_MAX_S
        return min(max(0.0, (from_text(next_at) - self._parts.clock()).total_seconds()), LOOK_MAX_S)


@dataclass(frozen=True, slots=True)
class EmbeddedStub:
    host: EmbeddedHost
    agent: str
    instance: str

    async def call(self, method: str, *arguments: Any) -> Any:
        return await self.host.call(self.agent, self.instance, method, *arguments)

    async def pause(self, callback: str, key: str, note: str | None, by: str) -> bool:
        return await self.host.pause(self.agent, self.instance, callback, key, note, by)
