"""A host with nothing but agents that a test brings: real files, a clock that a test moves, and one gated route."""

from itertools import count
from pathlib import Path
from typing import Any

from litestar import Litestar
from litestar.params import FromPath

from app.runtime.durable.agent import Agent
from app.runtime.durable.cipher import AppKeyCipher
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.durable.parts import Parts
from app.runtime.durable.storage import Row
from app.runtime.registration import Registration
from app.runtime.tools.agent_route import post
from app.runtime.tools.catalog import Catalog
from app.runtime.tools.pipeline import Pipeline
from app.services.approval_store import DatabaseApprovalStore
from db.engine import Database
from tests.world import KEY, Clock, awake


@post("/parcels/{parcel:int}/send", name="parcels.send", status_code=200).agent(
    description="Send it.", approval="required"
)
async def send(parcel: FromPath[int]) -> dict[str, int]:
    return {"sent": parcel}


def a_host(folder: Path, database: Database, clock: Clock, **agents: type[Agent[Any]]) -> EmbeddedHost:
    """Each keyword names an agent. Making it again over the same folder is a restart."""
    store = DatabaseApprovalStore(database, 3600)
    ids = count()
    pipeline = Pipeline(store, clock, lambda: f"{id(ids)}-{next(ids)}", lambda _: None)
    app = Litestar([send], openapi_config=None, logging_config=None)
    pipeline.bind(app, Catalog.of(app))
    parts = Parts(
        registrations={name: Registration(name, "", "", ("tool:parcels_send",)) for name in agents},
        make_agent=lambda name: agents[name](),
        pipeline=pipeline,
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


def files(folder: Path) -> set[Path]:
    """Every file below the folder, without what SQLite keeps beside an open one."""
    return {path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))}
