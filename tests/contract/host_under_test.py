"""What the contract suite needs of a host to hold it to its promises. A host of another kind is another class here."""

import asyncio
from pathlib import Path
from typing import Any, Protocol

from app.runtime.durable.agent import Agent
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.durable.storage import Row
from app.runtime.principal import Principal
from app.services import approvals
from db.engine import Database
from tests.support import OPERATOR
from tests.support_host import a_host, private, run_due
from tests.world import Clock


class HostUnderTest(Protocol):
    """One host after another over one place. It reads the time from `clock`, and rings when it is told to."""

    clock: Clock

    async def start(self, **agents: type[Agent[Any]]) -> None:
        """A deploy with these agents, each under its keyword; a restart, when one runs already."""

    async def kill(self) -> None:
        """Break off what is under way; `start` comes next. (Real processes are killed in tests/acceptance/.)"""

    def evict(self) -> None:
        """Drop every idle instance from memory."""

    async def ring(self, **delta: float) -> int:
        """Move the clock, and ring what is due by then. Returns how many alarms rang."""

    async def call(self, agent: str, instance: str, method: str) -> Any: ...

    async def answer(self, agent: str, instance: str, request_id: str, *, wake: bool = True) -> None:
        """A person says yes to what the instance has asked, and its wake is over."""

    def sql(self, agent: str, instance: str, query: str) -> list[Row]:
        """A look into the instance's private database."""

    def close(self) -> None: ...


class Embedded:
    def __init__(self, folder: Path, database: Database, clock: Clock) -> None:
        self.clock, self._folder, self._database = clock, folder, database
        self._host: EmbeddedHost | None = None

    async def start(self, **agents: type[Agent[Any]]) -> None:
        self.close()
        self._host = a_host(self._folder, self._database, self.clock, **agents)
        await self._host.start()
        await self._host.run_due(self.clock.at)

    async def kill(self) -> None:
        turns = list(self.host._tasks)
        for turn in turns:
            turn.cancel()
        await asyncio.gather(*turns, return_exceptions=True)

    @property
    def host(self) -> EmbeddedHost:
        assert self._host, "start it first"
        return self._host

    def evict(self) -> None:
        self.host._awake.evict()

    async def ring(self, **delta: float) -> int:
        return await run_due(self.host, self.clock, **delta)

    async def call(self, agent: str, instance: str, method: str) -> Any:
        return await self.host.get(agent, instance).call(method)

    async def answer(self, agent: str, instance: str, request_id: str, *, wake: bool = True) -> None:
        await self._database.write(
            approvals.approve, request_id, by=OPERATOR, now=self.clock.at, reason=None, use_ttl_s=86_400
        )
        if wake:
            self.host.wake([(Principal.agent(agent, instance).key, request_id)])
            await self.host.drain()

    def sql(self, agent: str, instance: str, query: str) -> list[Row]:
        return private(self.host, agent, instance, query)

    def close(self) -> None:
        if self._host:
            self._host.close()


def next_runs(host: HostUnderTest, agent: str = "worker", instance: str = "main") -> dict[str, str]:
    """When each of its schedules runs next, by callback and key."""
    rows = host.sql(agent, instance, "SELECT callback || key AS name, next_at FROM schedules ORDER BY name")
    return {row["name"]: row["next_at"] for row in rows}
