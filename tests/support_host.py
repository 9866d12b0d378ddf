"""A host with nothing but agents that a test brings: real files and a real clock-driven alarm, no routes."""

from datetime import datetime
from pathlib import Path
from typing import Any

from app.runtime.durable.agent import Agent
from app.runtime.durable.cipher import AppKeyCipher
from app.runtime.durable.host_embedded import EmbeddedHost, Parts
from app.runtime.durable.storage import Row
from app.runtime.registration import Registration
from app.runtime.tools.pipeline import Pipeline
from app.services.approval_store import DatabaseApprovalStore
from db.engine import Database
from tests.world import KEY, Clock, awake


def a_host(folder: Path, database: Database, clock: Clock, **agents: type[Agent[Any]]) -> EmbeddedHost:
    """Each keyword names an agent. Making it again over the same folder is a restart."""
    store = DatabaseApprovalStore(database, 3600)
    parts = Parts(
        registrations={name: Registration(name, "", "", ()) for name in agents},
        make_agent=lambda name: agents[name](),
        pipeline=Pipeline(store, clock, lambda: "id", lambda _: None),
        store=store,
        cipher=AppKeyCipher([KEY], "ledger", bytes),
        clock=clock,
        new_trace=lambda: "trace",
    )
    return EmbeddedHost(folder / "agents", parts)


async def run_due(host: EmbeddedHost, clock: Clock, **delta: float) -> int:
    """Move the clock, and let the alarms that are due by then ring."""
    clock.advance(**delta)
    return await host.run_due(clock.at)


def private(host: EmbeddedHost, agent: str, instance: str, query: str, *params: Any) -> list[Row]:
    """A statement on the instance's own database."""
    return awake(host, agent, instance)._agent.sql(query, *params)


def next_run_of(host: EmbeddedHost, agent: str, instance: str = "main") -> datetime:
    [row] = private(host, agent, instance, "SELECT next_at FROM schedules")
    return datetime.fromisoformat(row["next_at"])


class House:
    """One host after another over the same folder."""

    def __init__(self, folder: Path, database: Database, now: datetime) -> None:
        self.folder, self.database, self.clock = folder, database, Clock(now)
        self.host: EmbeddedHost | None = None

    async def start(self, **agents: type[Agent[Any]]) -> EmbeddedHost:
        self.close()
        self.host = a_host(self.folder, self.database, self.clock, **agents)
        await self.host.start()
        await self.host.run_due(self.clock.at)
        return self.host

    async def run_due(self, **delta: float) -> int:
        assert self.host
        return await run_due(self.host, self.clock, **delta)

    async def runs(self) -> list[Any]:
        assert self.host
        return list(await self.host.get("worker", "main").call("read"))

    def close(self) -> None:
        if self.host:
            self.host.close()
