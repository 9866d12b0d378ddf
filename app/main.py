"""The product on one machine, made whole: the one module that knows everything. Nothing happens at import."""

import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from litestar import Litestar

from app import product
from app.runtime.durable.cipher import AppKeyCipher
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.durable.sealing import KEY_BYTES
from app.runtime.instants import Clock, utc_now
from app.runtime.registration import Registration, read
from app.runtime.tools.budget import Meters
from app.runtime.tools.catalog import Catalog
from app.runtime.tools.dispatch import ASGIApp
from app.runtime.tools.pipeline import Pipeline
from app.web.audit_files import FileSink
from app.web.hosts import KnownHosts
from app.web.live import Watcher
from app.web.tracing import Traced
from config.agents import AGENTS
from config.settings import Settings
from db.engine import Database, SqliteDatabase

SHELL_LIMITS = (60, 20)  # calls a minute of one person at a shell, and how many of them may change things


@dataclass(frozen=True, slots=True)
class System:
    """The whole product, at rest. `app` answers requests; `host` runs agents once somebody runs it."""

    settings: Settings
    db: Database
    app: ASGIApp
    litestar: Litestar  # what `app` wraps
    host: EmbeddedHost
    live: Watcher
    agents: Mapping[str, Registration]
    catalog: Catalog
    clock: Clock
    audit: FileSink
    pipeline: Pipeline
    meters: Meters  # of people who call tools from a shell

    def close(self) -> None:
        self.host.close()
        self.db.close()
        self.audit.close()


def build(
    settings: Settings, *, clock: Clock = utc_now, new_id: Callable[[], str] = lambda: uuid.uuid4().hex
) -> System:
    """Fit the parts together. Opens no file. Raises SettingMissing without a proper APP_KEY."""
    db = SqliteDatabase(settings.database)
    audit = FileSink(settings.data_dir / "audit")
    registrations = read(AGENTS)
    parts = product.parts(settings, registrations, db, AppKeyCipher, clock, new_id, audit)
    host = EmbeddedHost(settings.data_dir / "agents", parts)
    live = Watcher(db, clock)
    litestar = product.fit(settings, parts, db, host, live)
    pipeline, catalog = parts.pipeline, parts.pipeline.catalog
    _mount_mcp(litestar, pipeline)
    app = Traced(KnownHosts(litestar, (settings.host, *settings.allowed_hosts)), new_id)
    return System(
        settings, db, app, litestar, host, live, registrations, catalog, clock, audit, pipeline, Meters(*SHELL_LIMITS)
    )


def look() -> System:
    """The product under a throwaway key, to be looked at and not run: its routes, its tools. Opens no file either."""
    return build(Settings(app_key=b64encode(bytes(KEY_BYTES)).decode()))


def _mount_mcp(litestar: Litestar, pipeline: Pipeline) -> None:
    """The tools at /mcp, unless that folder was deleted."""
    if find_spec("app.mcp"):
        from app.mcp.endpoint import endpoint  # noqa: PLC0415 (a folder that may be gone)

        litestar.register(endpoint(pipeline))
