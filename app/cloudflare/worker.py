"""The product on Workers, made whole: the app as a Worker, each instance an object, tickets and approvals in D1.

Imported into a snapshot, once for many Workers: so nothing happens before the first request. Not here: MCP, backups.
"""

import asyncio
import sys
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import js
import workers
from pyodide.ffi import create_proxy, run_sync
from workers import DurableObject, WorkerEntrypoint, asgi

from app import product
from app.cloudflare import d1
from app.cloudflare.guard import Guard, Target, authorizers
from app.cloudflare.instance import InstanceObject
from app.cloudflare.objects import ObjectHost
from app.cloudflare.webcrypto import WebCryptoCipher
from app.runtime.durable.parts import Parts
from app.runtime.durable.schedules import next_run
from app.runtime.instants import utc_now
from app.runtime.registration import read
from app.runtime.tools.audit import LogSink
from app.runtime.tools.dispatch import ASGIApp
from app.services.housekeeping import NIGHTLY, tidy
from app.web.tracing import Traced, configure_logs
from config.agents import AGENTS
from config.bindings import DATABASE, of_agent
from config.settings import load
from db.engine import Database


@dataclass(frozen=True, slots=True)
class System:
    db: Database
    parts: Parts
    host: ObjectHost
    app: ASGIApp
    guard: Guard


@cache
def system() -> System:
    """Made at the first request of an isolate, and kept as long as that: it holds bindings, and nothing that matters.

    Hosts need no check: the platform leads no request here but for the names it was told.
    """
    configure_logs(sys.stdout)
    settings, registrations = load(_texts()), read(AGENTS)
    db = Database(d1.engine(getattr(workers.env, DATABASE), run_sync))
    parts = product.parts(settings, registrations, db, WebCryptoCipher, utc_now, _new_id, LogSink())
    namespaces = {name: getattr(workers.env, of_agent(each.class_name)) for name, each in registrations.items()}
    host = ObjectHost(parts, namespaces.__getitem__, _background)
    app = Traced(product.fit(settings, parts, db, host), _new_id)
    return System(db, parts, host, app, Guard(authorizers(registrations), _is_response))


class Default(WorkerEntrypoint):  # type: ignore[misc]  # its types are on Workers only
    async def fetch(self, request: Any) -> Any:
        made = system()
        verdict = await made.guard.decide(urlsplit(request.url).path, request)
        if isinstance(verdict, Target):
            return await made.host.get(verdict.agent, verdict.instance).remote.fetch(request)
        if verdict in ("not mine", "refused"):  # the app has the words for a refusal
            response, _ = await asgi.process_request(made.app, request, self.env, None)  # `fetch` has a lifespan each
            return response
        return verdict

    async def scheduled(self, _controller: Any, *_: Any) -> None:
        """Each hour, by the cron trigger: what a host does at its start, for here is none. And the housekeeping."""
        made = system()
        await made.host.start()
        now = made.parts.clock()
        if now.hour == next_run(NIGHTLY, "UTC", now).hour:
            await tidy(made.db, now)


def durable_object(agent: str) -> type[Any]:
    """The class of an agent's objects, for the Worker's entry to name."""

    class AgentObject(DurableObject):  # type: ignore[misc]  # as above
        def __init__(self, ctx: Any, env: Any) -> None:
            super().__init__(ctx, env)
            self._own = InstanceObject(agent, system().parts, ctx.storage)

        async def call(self, name: str, method: str, arguments: str, trace: str | None) -> str:
            return await self._own.call(name, method, arguments, trace)

        async def pause(self, name: str, callback: str, key: str, note: str | None, by: str) -> str:
            return await self._own.pause(name, callback, key, note, by)

        async def wake(self, name: str, request_ids: str, trace: str | None) -> str:
            return await self._own.wake(name, request_ids, trace)

        async def start(self, name: str) -> str:
            return await self._own.start(name)

        async def alarm(self, _info: Any = None) -> None:
            await self._own.alarm()

        async def fetch(self, _request: Any) -> Any:
            return workers.Response("This agent answers no requests. Nothing was executed.\n", status=404)

    AgentObject.__name__ = AGENTS[agent]["class"]  # under which the platform finds it
    return AgentObject


def _texts() -> dict[str, str]:
    """Secrets and variables, as a process has its environment."""
    env = workers.import_from_javascript("cloudflare:workers").env
    bound = {name: getattr(env, name) for name in js.Object.keys(env)}
    return {name: value for name, value in bound.items() if isinstance(value, str)}


def _background(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    promise = create_proxy(task)
    task.add_done_callback(lambda _: promise.destroy())
    workers.wait_until(promise)


def _new_id() -> str:
    return uuid.uuid4().hex


def _is_response(given: Any) -> bool:
    return isinstance(given, workers.Response)
