"""The default host: agents in this process, a SQLite file per instance, one alarm index. Nothing else is needed."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from app.runtime import invocation
from app.runtime.durable.agent import Agent
from app.runtime.durable.alarms import Alarms, Due
from app.runtime.durable.cipher import Cipher
from app.runtime.durable.instance import Instance
from app.runtime.durable.storage import SqliteStorage
from app.runtime.errors import AgentNotRegistered
from app.runtime.instants import Clock, from_text
from app.runtime.principal import agent_of
from app.runtime.registration import Registration
from app.runtime.tools.approvals import ApprovalStore
from app.runtime.tools.pipeline import Pipeline

MAIN = "main"  # the instance that every registered agent has from the start
LOOK_MAX_S = 60.0  # the longest time between two looks at the clock: it may be set
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Parts:
    """What every instance is built from."""

    registrations: Mapping[str, Registration]
    make_agent: Callable[[str], Agent[Any]]
    pipeline: Pipeline
    store: ApprovalStore
    cipher: Cipher
    clock: Clock
    new_trace: Callable[[], str]


class EmbeddedHost:
    """Holds nothing open until `start`, `get(…).call` or `run_due` needs it. Call `close` in the end."""

    def __init__(self, folder: Path, parts: Parts) -> None:
        self._folder, self._parts = folder, parts
        self._instances: dict[tuple[str, str], Instance] = {}
        self._storages: list[SqliteStorage] = []
        self._alarms_opened: Alarms | None = None
        self._wakes: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()

    def get(self, agent: str, instance: str) -> "EmbeddedStub":
        if agent not in self._parts.registrations:
            raise AgentNotRegistered(agent, sorted(self._parts.registrations))
        return EmbeddedStub(self, agent, instance)

    def wake(self, answered: Iterable[tuple[str, str]]) -> None:
        by_instance: dict[tuple[str, str], list[str]] = {}
        for principal_key, request_id in answered:
            if (who := agent_of(principal_key)) and who[0] in self._parts.registrations:
                by_instance.setdefault(who, []).append(request_id)
        for (agent, instance), request_ids in by_instance.items():
            task = asyncio.get_running_loop().create_task(
                self._wake(agent, instance, request_ids, invocation.trace_id())
            )
            self._wakes.add(task)
            task.add_done_callback(self._wakes.discard)

    async def start(self) -> None:
        """Main instances register their schedules; answers that nobody has carried out yet are delivered."""
        for agent in self._parts.registrations:
            self._alarms.arm(agent, MAIN, "")
        self.wake(await self._parts.store.undelivered())

    async def run(self, stop: asyncio.Event) -> None:
        """Run what is due, as it comes due, until `stop`; a turn that has begun is finished."""
        await self.start()
        stopping = asyncio.create_task(stop.wait())
        while not stop.is_set():
            self._changed.clear()
            await self.run_due(self._parts.clock())
            changed = asyncio.create_task(self._changed.wait())
            await asyncio.wait({stopping, changed}, timeout=self._pause_s(), return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
        await self.drain()

    async def run_due(self, now: datetime) -> int:
        """One alarm turn for every instance whose alarm is due. Returns how many there were."""
        due = self._alarms.due(now)
        await asyncio.gather(*(self._ring(alarm, now) for alarm in due))
        return len(due)

    async def drain(self) -> None:
        """Wait for the wakes under way."""
        while self._wakes:
            await asyncio.gather(*self._wakes)

    def close(self) -> None:
        for storage in self._storages:
            storage.close()
        if self._alarms_opened:
            self._alarms_opened.close()

    def instance(self, agent: str, name: str) -> Instance:
        if (agent, name) not in self._instances:
            self._instances[agent, name] = self._make(agent, name)
        return self._instances[agent, name]

    def _make(self, agent: str, name: str) -> Instance:
        digest = hashlib.sha256(f"{agent}\0{name}".encode()).hexdigest()
        storage = SqliteStorage(self._folder / digest[:2] / f"{digest}.sqlite")
        self._storages.append(storage)
        parts = self._parts

        def arm(at: str) -> None:
            self._alarms.arm(agent, name, at)
            self._changed.set()

        def set_alarm(at: str | None) -> None:
            self._alarms.set(agent, name, at)
            self._changed.set()

        return Instance(
            parts.registrations[agent],
            name,
            parts.make_agent(agent),
            storage=storage,
            arm=arm,
            set_alarm=set_alarm,
            pipeline=parts.pipeline,
            store=parts.store,
            cipher=parts.cipher,
            clock=parts.clock,
            new_trace=parts.new_trace,
        )

    @property
    def _alarms(self) -> Alarms:
        if self._alarms_opened is None:
            self._alarms_opened = Alarms(self._folder / "alarms.sqlite")
        return self._alarms_opened

    async def _ring(self, alarm: Due, now: datetime) -> None:
        try:
            await self.instance(alarm.agent, alarm.instance).alarm()
        except Exception:
            log.exception("alarm_failed", agent=alarm.agent, instance=alarm.instance)
            self._alarms.failed(alarm, now)

    async def _wake(self, agent: str, instance: str, request_ids: list[str], trace: str | None) -> None:
        try:
            await self.instance(agent, instance).wake(request_ids, trace)
        except Exception:
            log.exception("wake_failed", agent=agent, instance=instance)  # the ledger's alarm will find them

    def _pause_s(self) -> float:
        next_at = self._alarms.next_at()
        if next_at is None:
            return LOOK_MAX_S
        return min(max(0.0, (from_text(next_at) - self._parts.clock()).total_seconds()), LOOK_MAX_S)


@dataclass(frozen=True, slots=True)
class EmbeddedStub:
    host: EmbeddedHost
    agent: str
    instance: str

    async def call(self, method: str) -> Any:
        return await self.host.instance(self.agent, self.instance).call(method, invocation.trace_id())
