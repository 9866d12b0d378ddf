"""An installation in a temporary directory, and hosts over it with agents made for measuring."""

import asyncio
import base64
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import structlog

from app.main import System, build
from app.runtime.durable.agent import Agent
from app.runtime.durable.cipher import AppKeyCipher
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.durable.parts import Parts
from app.runtime.durable.storage import Synchronous
from app.runtime.instants import Clock, utc_now
from app.runtime.registration import Registration
from app.runtime.tools.pipeline import Pipeline
from app.services.approval_store import DatabaseApprovalStore
from app.web.tracing import configure_logs
from config.settings import Settings

KEY = base64.b64encode(bytes(32)).decode()


def a_system(folder: Path, clock: Clock = utc_now) -> System:
    return build(Settings(data_dir=folder, app_key=KEY), clock=clock)


@contextmanager
def installed(clock: Clock = utc_now) -> Iterator[System]:
    """The product, set up and empty. Its logs are written, to nowhere."""
    with TemporaryDirectory() as name, Path(os.devnull).open("w") as nowhere:
        environment = os.environ | {"DATA_DIR": name, "APP_KEY": KEY}
        command = [sys.executable, "-m", "app.cli", "db", "upgrade"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 (our own)
        before = structlog.get_config()
        configure_logs()
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(file=nowhere))
        system = a_system(Path(name), clock)
        try:
            yield system
        finally:
            system.close()
            structlog.configure(**before)


@asynccontextmanager
async def running(system: System) -> AsyncIterator[None]:
    """Its host runs within the block."""
    stop = asyncio.Event()
    agents = asyncio.create_task(system.host.run(stop))
    while system.host.lag_s() is None:  # noqa: ASYNC110 (nobody is told when it runs)
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        stop.set()
        await agents


@contextmanager
def hosting(system: System, agent: type[Agent[Any]], synchronous: Synchronous = "FULL") -> Iterator[EmbeddedHost]:
    """A host of its own where `agent` is called triager, and has no budget to speak of."""
    store = DatabaseApprovalStore(system.db, system.settings.approval_ttl_s)
    pipeline = Pipeline(store, utc_now, _new_id, lambda _: None)
    pipeline.bind(system.litestar, system.catalog)
    parts = Parts(
        registrations={
            "triager": Registration(
                "triager", "", "", ("tool:tickets_close",), calls_per_minute=10**6, open_requests=10**6
            )
        },
        make_agent=lambda _: agent(),
        pipeline=pipeline,
        store=store,
        cipher=AppKeyCipher([KEY], "ledger", os.urandom),
        clock=utc_now,
        new_trace=_new_id,
    )
    with TemporaryDirectory() as folder:
        host = EmbeddedHost(Path(folder), parts, synchronous)
        try:
            yield host
        finally:
            host.close()


def _new_id() -> str:
    return uuid.uuid4().hex
