"""The whole product on a fresh database, under a clock that a test moves. Nothing in it is fake but the clock."""

import base64
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from app.main import System, build
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.durable.instance import Instance
from app.services import approvals, tokens
from config.settings import Settings
from db.schema import ApprovalRow, EventRow, TicketRow, TokenRow
from tests.clock import Clock
from tests.support import NOW, OPERATOR, ago, an_operator

KEY = base64.b64encode(b"k" * 32).decode()
TOKEN = "trg_test_operator"  # noqa: S105


@dataclass
class World:
    system: System
    clock: Clock
    client: httpx.AsyncClient  # signed in as the operator, by bearer token

    async def sweep(self) -> dict[str, Any]:
        return await self.system.host.get("triager", "main").call("sweep")

    async def report(self) -> dict[str, Any]:
        return await self.system.host.get("triager", "main").call("report")

    async def run_due(self, **delta: float) -> int:
        """Move the clock, and let the alarms that are due by then ring."""
        self.clock.advance(**delta)
        return await self.system.host.run_due(self.clock.at)

    async def pending(self) -> list[str]:
        """Ids of the requests that can be answered, oldest first."""
        page = await self.system.db.read(approvals.listing, self.clock.at)
        return [one.id for one in page.pending]

    async def approve(self, request_id: str, *, wake: bool = True) -> None:
        answered = await self.system.db.write(
            approvals.approve, request_id, by=OPERATOR, now=self.clock.at, reason=None, use_ttl_s=86_400
        )
        await self._woken(answered.principal, request_id, wake)

    async def reject(self, request_id: str, *, wake: bool = True, until_at: str | None = None) -> None:
        answered = await self.system.db.write(
            approvals.reject, request_id, by=OPERATOR, now=self.clock.at, reason=None, until_at=until_at
        )
        await self._woken(answered.principal, request_id, wake)

    async def approval(self, request_id: str) -> ApprovalRow:
        return await self.system.db.read(lambda s: s.execute(select(ApprovalRow).filter_by(id=request_id)).scalar_one())

    async def ticket(self, ticket_id: int) -> TicketRow:
        return await self.system.db.read(lambda s: s.execute(select(TicketRow).filter_by(id=ticket_id)).scalar_one())

    async def events(self, subject: str) -> list[str]:
        query = select(EventRow.kind).where(EventRow.subject == subject).order_by(EventRow.id)
        return await self.system.db.read(lambda s: list(s.scalars(query)))

    async def change(self, table: type, row_id: Any, **columns: Any) -> None:
        """What no door of the product would do: write the columns of a row."""
        await self.system.db.write(
            lambda s: s.execute(update(table).where(table.id == row_id).values(columns)) and None  # type: ignore[attr-defined]
        )

    async def _woken(self, principal: str, request_id: str, wake: bool) -> None:
        if wake:
            self.system.host.wake([(principal, request_id)])
            await self.system.host.drain()


@asynccontextmanager
async def a_world(folder: Path, migrated: Path, now: datetime = NOW, **settings: Any) -> AsyncIterator[World]:
    """Started, with an operator and without tickets. Entering it again in the same folder is a restart."""
    path = folder / "triager.sqlite"
    fresh = not path.exists()
    if fresh:
        shutil.copy(migrated, path)
    clock = Clock(now)
    system = build(Settings(data_dir=folder, app_key=settings.pop("app_key", KEY), **settings), clock=clock)
    if fresh:
        await system.db.write(operator_with_token)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    transport = httpx.ASGITransport(system.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        await system.host.start()
        await system.host.run_due(now)
        await system.host.drain()
        try:
            yield World(system, clock, client)
        finally:
            await system.host.drain()
            system.close()


def operator_with_token(session: Session) -> None:
    user_id = an_operator(session)
    row = {"id": "test", "name": "test", "user_id": user_id, "kind": "operator", "hashed": tokens.hashed(TOKEN)}
    session.execute(insert(TokenRow).values(**row, scopes=[], created_at=ago(1)))


def awake(host: EmbeddedHost, agent: str, instance: str) -> Instance:
    """An instance as it is in memory, for tests that look inside."""
    with host._awake.use(agent, instance) as found:
        return found
