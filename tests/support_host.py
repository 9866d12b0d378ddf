"""A host with nothing but agents that a test brings: real files, and a clock that a test moves."""

from pathlib import Path
from typing import Any

from app.runtime.durable.agent import Agent
from app.runtime.durable.cipher import AppKeyCipher
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.durable.storage import Row
from db.engine import Database
from tests.clock import Clock
from tests.support_parcels import parcel_parts
from tests.world import KEY, awake


def a_host(folder: Path, database: Database, clock: Clock, **agents: type[Agent[Any]]) -> EmbeddedHost:
    """Each keyword names an agent. Making it again over the same folder is a restart."""
    parts = parcel_parts(database, clock, AppKeyCipher([KEY], "ledger", bytes), agents)
    return EmbeddedHost(folder / "agents", parts)


async def run_due(host: EmbeddedHost, clock: Clock, **delta: float) -> int:
    """Move the clock, and let the alarms that are due by then ring."""
    clock.advance(**delta)
    return await host.run_due(clock.at)


def private(host: EmbeddedHost, agent: str, instance: str, query: str, *params: Any) -> list[Row]:
    """A statement on the instance's own database."""
    return awake(host, agent, instance)._agent.sql(query, *params)


def files(folder: Path) -> set[Path]:
    """Every file below the folder, without what SQLite keeps beside an open one."""
    return {path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))}
