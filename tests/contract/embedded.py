"""The embedded host, under test."""

import asyncio
from pathlib import Path
from typing import Any

from app.runtime.durable.agent import Agent
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.durable.storage import Row
from app.runtime.principal import Principal
from app.services import approvals
from db.engine import Database
from tests.clock import Clock
from tests.support import OPERATOR
from tests.support_host import a_host, private, run_due


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
