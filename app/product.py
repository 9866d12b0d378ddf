"""The product, but for what its host brings: the database, the cipher, where agents live, where logs go.

`app/main.py` makes it whole on one machine.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from os import urandom
from typing import Any

import structlog
from litestar import Litestar, Request
from litestar.di import Provide

from app.auth import Authentication
from app.domain import OperationId
from app.runtime.durable.agent import Agent
from app.runtime.durable.host import Host
from app.runtime.durable.parts import Parts
from app.runtime.durable.sealing import Sealing
from app.runtime.instants import Clock
from app.runtime.principal import IN_PROCESS, InProcess, Principal
from app.runtime.registration import Registration
from app.runtime.tools.approvals import NewRequest
from app.runtime.tools.audit import Sink
from app.runtime.tools.catalog import Catalog
from app.runtime.tools.pipeline import Pipeline
from app.services.approval_store import DatabaseApprovalStore
from app.web.live import Watcher
from app.web.strict import TYPE_DECODERS, StrictRequest, TicketIdSchema, refuse_unknown_query
from config.settings import SettingMissing, Settings
from config.triage import POLICY
from db.engine import Database
from routes import HANDLERS
from routes.answers import answers
from routes.brakes import lever
from routes.jobs import jobs
from routes.problems import EXCEPTION_HANDLERS

POLICIES: dict[str, dict[str, Any]] = {"triager": POLICY}  # what each agent's constructor takes
log = structlog.get_logger()


def parts(
    settings: Settings,
    registrations: Mapping[str, Registration],
    db: Database,
    cipher: type[Sealing],
    clock: Clock,
    new_id: Callable[[], str],
    audit: Sink,
) -> Parts:
    """What a host is made from. Raises SettingMissing without a proper APP_KEY."""
    store = DatabaseApprovalStore(db, settings.approval_ttl_s)
    return Parts(
        registrations=registrations,
        make_agent=lambda name: agent_class(registrations[name])(**POLICIES.get(name, {})),
        pipeline=Pipeline(store, clock, new_id, _notify, audit),
        store=store,
        cipher=_under_app_key(cipher, settings),
        clock=clock,
        new_trace=new_id,
    )


def fit(settings: Settings, parts: Parts, db: Database, host: Host, live: Watcher | None = None) -> Litestar:
    """The routes over the host, and its agents' calls led back to them."""
    litestar = web(settings, db, host, parts.clock, live)
    parts.pipeline.bind(litestar, Catalog.of(litestar))
    return litestar


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


def agent_class(registration: Registration) -> type[Agent[Any]]:
    found: type[Agent[Any]] = getattr(import_module(registration.module), registration.class_name)
    return found


def _under_app_key(cipher: type[Sealing], settings: Settings) -> Sealing:
    if not settings.app_key:
        raise SettingMissing(
            "APP_KEY is not set, so waiting calls could not be sealed. Nothing was done. "
            "Add the line printed by: triager key"
        )
    try:
        return cipher([settings.app_key, *settings.previous_keys], "ledger", urandom)
    except ValueError as error:
        raise SettingMissing(str(error)) from None


def _provide(value: Callable[..., Any]) -> Provide:
    return Provide(value, use_cache=False, sync_to_thread=False)


def _by(request: Request[Principal, Any, Any]) -> Principal:
    return request.user


def _operation(request: Request[Principal, Any, Any]) -> OperationId | None:
    call = request.scope.get(IN_PROCESS)
    return OperationId(call.operation) if isinstance(call, InProcess) and call.operation else None


def _notify(request: NewRequest) -> None:
    log.info(
        "approval_requested",
        request_id=request.id,
        subject=request.subject,
        by=request.principal_key,
        what=request.preview.get("summary"),
        approve=f"POST /approvals/{request.id}/approve",
    )
