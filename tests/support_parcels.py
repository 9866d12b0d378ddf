"""What a host is made from that has nothing but agents of a test's own, and one gated route for them to call."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from litestar import Litestar
from litestar.params import FromPath

from app.runtime.durable.agent import Agent
from app.runtime.durable.parts import Parts
from app.runtime.durable.sealing import Cipher
from app.runtime.registration import Registration
from app.runtime.tools.agent_route import post
from app.runtime.tools.catalog import Catalog
from app.runtime.tools.pipeline import Pipeline
from app.services.approval_store import DatabaseApprovalStore
from db.engine import Database
from tests.clock import Clock


@post("/parcels/{parcel:int}/send", name="parcels.send", status_code=200).agent(
    description="Send it.", approval="required"
)
async def send(parcel: FromPath[int]) -> dict[str, int]:
    return {"sent": parcel}


def parcel_parts(database: Database, clock: Clock, cipher: Cipher, agents: Mapping[str, type[Agent[Any]]]) -> Parts:
    store = DatabaseApprovalStore(database, 3600)
    ids = count()
    pipeline = Pipeline(store, clock, lambda: f"{id(ids)}-{next(ids)}", lambda _: None)
    app = Litestar([send], openapi_config=None, logging_config=None)
    pipeline.bind(app, Catalog.of(app))
    return Parts(
        registrations={name: Registration(name, "", "", ("tool:parcels_send",)) for name in agents},
        make_agent=lambda name: agents[name](),
        pipeline=pipeline,
        store=store,
        cipher=cipher,
        clock=clock,
        new_trace=lambda: "trace",
    )
