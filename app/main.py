"""The one module that knows everything: it builds the parts and fits them together. Nothing happens at import."""

import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from os import urandom
from typing import Any

import structlog
from litestar import Litestar, Request
from litestar.di import Provide

from app.auth import Authentication
from app.domain import OperationId
from app.runtime.durable.agent import Agent
from app.runtime.durable.cipher import KEY_BYTES, AppKeyCipher
from app.runtime.durable.host import Host
from app.runtime.durable.host_embedded import EmbeddedHost, Parts
from app.runtime.instants import Clock, utc_now
from app.runtime.principal import IN_PROCESS, InProcess, Principal
from app.runtime.registration import Registration, read
from app.runtime.tools.approvals import NewRequest
from app.runtime.tools.budget import Meters
from app.runtime.tools.catalog import Catalog
from app.runtime.tools.dispatch import ASGIApp
from app.runtime.tools.pipeline import Pipeline
from app.services.approval_store import DatabaseApprovalStore
from app.web.audit_files import FileSink
from app.web.hosts import KnownHosts
from app.web.live import Watcher
from app.web.strict import TYPE_DECODERS, StrictRequest, TicketIdSchema, refuse_unknown_query
from app.web.tracing import Traced
from config.agents import AGENTS
from config.settings import SettingMissing, Settings
from config.triage import POLICY
from db.engine import Database, SqliteDatabase
from routes import HANDLERS
from routes.answers import answers
from routes.brakes import lever
from routes.jobs import jobs
from routes.problems import EXCEPTION_HANDLERS

POLICIES: dict[str, dict[str, Any]] = {"triager": POLICY}  # what each agent's constructor takes
SHELL_LIMITS = (60, 20)  # calls a minute of one person at a shell, and how many of them may change things
log = structlog.get_logger()


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


def build(
    settings: Settings, *, clock: Clock = utc_now, new_id: Callable[[], str] = lambda: uuid.uuid4().hex
) -> System:
    """Fit the parts together. Opens no file. Raises SettingMissing without a proper APP_KEY."""
    cipher = _cipher(settings)
    db = SqliteDatabase(settings.database)
    store = DatabaseApprovalStore(db, settings.approval_ttl_s)
    audit = FileSink(settings.data_dir / "audit")
    pipeline = Pipeline(store, clock, new_id, _notify, audit)
    registrations = read(AGENTS)
    parts = Parts(
        registrations=registrations,
        make_agent=lambda name: _make_agent(registrations[name]),
        pipeline=pipeline,
        store=store,
        cipher=cipher,
        clock=clock,
        new_trace=new_id,
    )
    host = EmbeddedHost(settings.data_dir / "agents", parts)
    live = Watcher(db, clock)
    litestar = web(settings, db, host, clock, live)
    catalog = Catalog.of(litestar)
    pipeline.bind(litestar, catalog)
    _mount_mcp(litestar, pipeline)
    app = Traced(KnownHosts(litestar, (settings.host, *settings.allowed_hosts)), new_id)
    return System(
        settings, db, app, litestar, host, live, registrations, catalog, clock, audit, pipeline, Meters(*SHELL_LIMITS)
    )


def _cipher(settings: Settings) -> AppKeyCipher:
    if not settings.app_key:
        raise SettingMissing(
            "APP_KEY is not set, so waiting calls could not be sealed. Nothing was done. "
            "Add the line printed by: triager key"
        )
    try:
        return AppKeyCipher([settings.app_key, *settings.previous_keys], "ledger", urandom)
    except ValueError as error:
        raise SettingMissing(str(error)) from None


def look() -> System:
    """The product under a throwaway key, to be looked at and not run: its routes, its tools. Opens no file either."""
    return build(Settings(app_key=b64encode(bytes(KEY_BYTES)).decode()))


def web(settings: Settings, db: Database, host: Host, clock: Clock, live: Watcher | None = None) -> Litestar:
    """The routes, and what their handlers are given. Without `live`, open pages poll."""
    return Litestar(
        HANDLERS,
        request_class=StrictRequest,
        before_request=refuse_unknown_query,
        type_decoders=TYPE_DECODERS,
        plugins=[TicketIdSchema()],
        exception_handlers=EXCEPTION_HANDLERS,
        middleware=[Authentication(db, clock, secure_cookies=settings.secure_cookies)],
        dependencies={
            "db": _provide(lambda: db),
            "host": _provide(lambda: host),
            "live": _provide(lambda: live),
            "settings": _provide(lambda: settings),
            "now": _provide(clock),
            "by": _provide(_by),
            "operation": _provide(_operation),
            "answers": _provide(answers),
            "lever": _provide(lever),
            "jobs": _provide(jobs),
        },
        openapi_config=None,
        logging_config=None,
    )


def _mount_mcp(litestar: Litestar, pipeline: Pipeline) -> None:
    """The tools at /mcp, unless that folder was deleted."""
    if find_spec("app.mcp"):
        from app.mcp.endpoint import endpoint  # noqa: PLC0415 (a folder that may be gone)

        litestar.register(endpoint(pipeline))


def _provide(value: Callable[..., Any]) -> Provide:
    return Provide(value, use_cache=False, sync_to_thread=False)


def _by(request: Request[Principal, Any, Any]) -> Principal:
    return request.user


def _operation(request: Request[Principal, Any, Any]) -> OperationId | None:
    call = request.scope.get(IN_PROCESS)
    return OperationId(call.operation) if isinstance(call, InProcess) and call.operation else None


def agent_class(registration: Registration) -> type[Agent[Any]]:
    found: type[Agent[Any]] = getattr(import_module(registration.module), registration.class_name)
    return found


def _make_agent(registration: Registration) -> Agent[Any]:
    return agent_class(registration)(**POLICIES.get(registration.name, {}))


def _notify(request: NewRequest) -> None:
    log.info(
        "approval_requested",
        request_id=request.id,
        subject=request.subject,
        by=request.principal_key,
        what=request.preview.get("summary"),
        approve=f"POST /approvals/{request.id}/approve",
    )
