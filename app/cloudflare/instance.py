"""An instance in its object: its database, its one alarm, and what the platform and the app call."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

import structlog

from app.cloudflare.answers import given
from app.runtime.durable.alarms import RETRY_MAX_S, RETRY_S
from app.runtime.durable.instance import Instance
from app.runtime.durable.parts import Parts
from app.runtime.durable.storage import TABLES, Row
from app.runtime.instants import after, from_text, to_text
from app.runtime.steps import Step, reached

T = TypeVar("T")
LOOK_S = 60.0  # how long a halted instance, whose alarm rang, waits for its next look at the brakes
OWN = """
CREATE TABLE IF NOT EXISTS object (
  id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL, failures INTEGER NOT NULL DEFAULT 0);
"""
log = structlog.get_logger()


class ObjectStorage:
    """`ctx.storage`, as the runtime sees a database: synchronous, and real transactions."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self._storage.sql.exec(TABLES + OWN)

    def sql(self, query: str, *params: Any) -> list[Row]:
        rows: list[Row] = self._storage.sql.exec(query, *params).toArray()
        return rows

    def atomically(self, work: Callable[[], T]) -> T:
        done: list[T] = []  # not what the transaction returns: that would cross to JavaScript and back
        self._storage.transactionSync(lambda: done.append(work()))
        return done[0]

    def close(self) -> None:
        """The platform does."""


class Alarm:
    """The platform keeps one an object. It forgets it when it rings, and rings again if the ringing breaks off."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self.at: str | None = None  # where the platform has a later one, we set it anew

    def arm(self, at: str) -> None:
        if self.at is None or at < self.at:
            self.set(at)

    def set(self, at: str | None) -> None:
        if at == self.at:
            return
        ms = None if at is None else round(from_text(at).timestamp() * 1000)
        done = self._storage.deleteAlarm() if ms is None else self._storage.setAlarm(ms)
        # Nobody waits for it: the platform writes in order, and lets no answer out before it has.
        self._written = asyncio.ensure_future(done)
        self.at = at
        reached(Step.ARMED)


class InstanceObject:
    """What an object does. `agent` names its class; the name comes with the first call, and is kept for the alarms."""

    def __init__(self, agent: str, parts: Parts, storage: Any) -> None:
        self._agent, self._parts = agent, parts
        self.storage, self.alarm_clock = ObjectStorage(storage), Alarm(storage)
        self._made: Instance | None = None

    async def call(self, name: str, method: str, arguments: str, trace: str | None) -> str:
        return await given(self._call(self._instance(name), method, json.loads(arguments), trace))

    async def pause(self, name: str, callback: str, key: str, note: str | None, by: str) -> str:
        return await given(self._instance(name).pause(callback, key, note, by))

    async def wake(self, name: str, request_ids: str, trace: str | None) -> str:
        return await given(self._instance(name).wake(json.loads(request_ids), trace))

    async def start(self, name: str) -> str:
        return await given(self._start(name))

    async def alarm(self) -> None:
        """Never raises: a turn that failed is tried again after 2 s, 4 s … an hour, as on every host."""
        self.alarm_clock.at = None
        [own] = self.storage.sql("SELECT name, failures FROM object")
        instance = self._instance(own["name"])
        try:
            await self._parts.follow_brakes()
            if instance.is_halted:
                self.alarm_clock.set(after(self._parts.clock(), LOOK_S))
                return
            await instance.alarm()
        except Exception:
            log.exception("alarm_failed", agent=self._agent, instance=own["name"])
            failures = own["failures"]
            self._failed(failures + 1)
            self.alarm_clock.set(after(self._parts.clock(), min(RETRY_S * 2 ** min(failures, 20), RETRY_MAX_S)))
        else:
            if own["failures"]:
                self._failed(0)

    async def _call(self, instance: Instance, method: str, arguments: list[Any], trace: str | None) -> Any:
        if instance.acts(method):
            await self._parts.follow_brakes()
        return await instance.call(method, *arguments, trace=trace)

    async def _start(self, name: str) -> None:
        self._instance(name)
        self.alarm_clock.arm(to_text(self._parts.clock()))

    def _failed(self, times: int) -> None:
        self.storage.sql("UPDATE object SET failures = ?", times)

    def _instance(self, name: str) -> Instance:
        if self._made is None:
            self.storage.sql("INSERT OR IGNORE INTO object (id, name) VALUES (1, ?)", name)
            arm, set_alarm = self.alarm_clock.arm, self.alarm_clock.set
            self._made = self._parts.instance(self._agent, name, self.storage, arm, set_alarm, lambda: False)
        return self._made
