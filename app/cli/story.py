"""The whole story, told by the real parts: app, host, routes and database as users get them, under a clock we hold."""

import base64
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import structlog

from app import migrations
from app.main import System, build
from config.settings import Settings
from config.triage import POLICY
from db.engine import Database

Plant = Callable[[Database, datetime], Any]  # fills the empty database; awaitable
CAP = POLICY["max_asks_per_sweep"]
BUDGETS = {"sweep": 1 + 2 * CAP, "answer": 3, "wake": 3}  # statements
AN_HOUR = timedelta(hours=1)


@dataclass
class Held:
    """A clock that stands still until it is moved."""

    at: datetime

    def __call__(self) -> datetime:
        return self.at


@dataclass
class Story:
    """What happened so far, and the means to go on. `say` is told every step."""

    system: System
    clock: Held
    client: httpx.AsyncClient
    say: Callable[[str], None]
    statements: dict[str, int]
    sweeps: list[dict[str, Any]] = field(default_factory=list)
    settled: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)

    async def sweep(self) -> dict[str, Any]:
        """A person presses the button."""
        answer = await self._post("/ops/agents/triager/sweep")
        return self._swept(answer["swept"])

    async def sweep_of_the_hour(self) -> dict[str, Any]:
        """The alarm rings."""
        self.clock.at = (self.clock.at + AN_HOUR).replace(minute=0, second=0, microsecond=0)
        await self.system.host.run_due(self.clock.at)
        return self._swept((await self.report())["last_sweep"])

    async def pending(self) -> list[dict[str, Any]]:
        """The requests people see, oldest first."""
        pending: list[dict[str, Any]] = (await self._get("/approvals"))["pending"]
        return pending

    async def answer(self, request: dict[str, Any], verb: str) -> None:
        """A person answers, and the agent is woken for that request."""
        self.say(f"{verb:>8}  {request['preview']['summary']}")
        await self._post(f"/approvals/{request['id']}/{verb}")
        self.answers[request["id"]] = verb
        await self.system.host.drain()
        self._note(await self.report())

    async def report(self) -> dict[str, Any]:
        report: dict[str, Any] = (await self._get("/ops/agents/triager"))["report"]
        return report

    def _swept(self, summary: dict[str, Any]) -> dict[str, Any]:
        told = {name: summary[name] for name in ("at", "open", "stale", "asked", "closed", "refused", "deferred")}
        self.sweeps.append(told)
        self.say("   sweep  " + ", ".join(f"{name} {value}" for name, value in told.items()))
        return told

    def _note(self, report: dict[str, Any]) -> None:
        names = ("request_id", "tool", "status", "retried")
        self.settled |= {one["request_id"]: {name: one[name] for name in names} for one in report["settled"]}

    async def _get(self, path: str) -> dict[str, Any]:
        return self._json(await self.client.get(path))

    async def _post(self, path: str) -> dict[str, Any]:
        return self._json(await self.client.post(path, json={} if path.startswith("/approvals") else None))

    @staticmethod
    def _json(response: httpx.Response) -> dict[str, Any]:
        response.raise_for_status()
        body: dict[str, Any] = response.json()
        return body


@asynccontextmanager
async def story(folder: Path, now: datetime, plant: Plant, say: Callable[[str], None]) -> AsyncIterator[Story]:
    """A fresh installation in `folder`, with its host started and an operator's token in the client."""
    settings = Settings(data_dir=folder, app_key=base64.b64encode(os.urandom(32)).decode())
    migrations.upgrade(settings.database)
    clock = Held(now)
    system = build(settings, clock=clock)
    token = await plant(system.db, now)
    transport = httpx.ASGITransport(system.app)
    headers = {"Authorization": f"Bearer {token}"}
    with counting() as statements:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            await system.host.start()
            await system.host.run_due(now)
            try:
                yield Story(system, clock, client, say, statements)
            finally:
                await system.host.drain()
                system.close()


@contextmanager
def counting() -> Iterator[dict[str, int]]:
    """The most statements each kind of invocation has run, read off the product's own log lines."""
    most = {"sweep": 0, "answer": 0, "wake": 0}

    def read(_logger: Any, _name: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
        answered = line.get("path", "").endswith(("/approve", "/reject"))
        kind = "answer" if answered else line.get("what", "")
        if kind in most:
            most[kind] = max(most[kind], line["statements"])
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[read])
    try:
        yield most
    finally:
        structlog.configure(**before)
