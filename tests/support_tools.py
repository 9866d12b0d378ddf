"""A courier: an agent with tools of its own, inside the whole product. Its parcels are what a test sends to and fro."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Struct
from sqlalchemy import event, select, update
from sqlalchemy.orm import Session

import app.main
from app.auth import signed_in
from app.domain import Conflict, OperationId
from app.runtime.durable.agent import Agent, Settled
from app.runtime.instants import to_text
from app.runtime.tools.agent_route import get, post
from app.runtime.tools.client import Tools
from app.schemas import Input, Preview
from db.engine import Database
from db.schema import ApprovalRow
from routes import HANDLERS
from tests.support import NOW
from tests.world import World, a_world, awake

SCOPES = ("tool:parcels_send", "tool:parcels_find", "tool:parcels_break")


class Parcel(Input):
    note: str = "none"
    flags: dict[str, Any] = {}  # noqa: RUF012 (msgspec copies it)


class Sent(Struct):
    parcel_id: int
    note: str
    flags: dict[str, Any]


class Told(Struct, frozen=True):
    told: tuple[tuple[str, str, str | None], ...] = ()  # request id, status, what became of the call


class Courier(Agent[Told]):
    state_type = Told
    rpc = ("report",)

    async def report(self) -> Told:
        return self.state

    async def on_tool_approval_settled(self, event: Settled) -> None:
        self.set_state(Told((*self.state.told, (event.request_id, event.status, event.ran))))


def preview_send(session: Session, parcel_id: int, note: str) -> Preview:
    if parcel_id == 404:
        raise Conflict("That parcel is gone.", "gone")
    return Preview(summary=f"Sends parcel {parcel_id}: {note}.", before={}, after={"sent": True})


def send_once(session: Session, operation: OperationId | None) -> None:
    """The receipt: one statement, and only while the approval is spent and unended."""
    spent = (ApprovalRow.id == operation, ApprovalRow.claim_id.is_not(None), ApprovalRow.ended.is_(None))
    receipt = update(ApprovalRow).where(*spent).values(ended="used", ended_at=to_text(NOW))
    if operation and session.execute(receipt.returning(ApprovalRow.id)).first() is None:
        raise Conflict("Sent already.")


def parcel_routes(sent: list[Sent], found: list[str]) -> list[Any]:
    @post("/parcels/{parcel_id:int}/send", name="parcels.send", guards=[signed_in], status_code=200).agent(
        description="Send it.", approval="required", preview=preview_send, redact=("pin",)
    )
    async def send(
        parcel_id: FromPath[int],
        data: JSONBody[Parcel],
        operation: NamedDependency[OperationId | None],
        db: NamedDependency[Database],
    ) -> Sent:
        await db.write(send_once, operation)
        sent.append(Sent(parcel_id, data.note, data.flags))
        return sent[-1]

    @get("/parcels/by-label/{label:str}", name="parcels.find", guards=[signed_in]).agent(description="Find it.")
    async def find(label: FromPath[str]) -> dict[str, str]:
        found.append(label)
        return {"label": label}

    @get("/parcels/by-label/all", guards=[signed_in])
    async def find_all() -> dict[str, str]:
        found.append("not a tool")
        return {}

    @get("/parcels/break", name="parcels.break", guards=[signed_in]).agent(description="Break.")
    async def break_down() -> dict[str, str]:
        raise RuntimeError("password=mark-G at https://u:mark-H@host/ hunter2")

    return [send, find, find_all, break_down]


@dataclass
class Depot:
    world: World
    sent: list[Sent]
    found: list[str]

    @property
    def tools(self) -> Tools:
        return self.tools_of("main")

    def tools_of(self, instance: str) -> Tools:
        return awake(self.world.system.host, "courier", instance)._agent.tools

    def send(self, arguments: dict[str, Any]) -> Any:
        return self.tools.call("parcels_send", arguments)

    async def rows(self) -> list[ApprovalRow]:
        query = select(ApprovalRow).order_by(ApprovalRow.requested_at, ApprovalRow.id)
        return await self.world.system.db.read(lambda s: list(s.scalars(query)))

    async def told(self) -> list[tuple[str, str, str | None]]:
        report = await self.world.system.host.get("courier", "main").call("report")
        return [tuple(one) for one in report["told"]]

    def ledger(self) -> list[dict[str, Any]]:
        agent = awake(self.world.system.host, "courier", "main")._agent
        return agent.sql("SELECT request_id, tool, subject, fingerprint, next_check_at FROM ledger")


@asynccontextmanager
async def a_depot(
    folder: Path,
    migrated: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    scopes: tuple[str, ...] = SCOPES,
    **limits: int,
) -> AsyncIterator[Depot]:
    """The product, and a courier with these scopes and limits. Entering it again in a folder is a restart."""
    entry = {"module": __name__, "class": "Courier", "scopes": list(scopes), **limits}
    sent: list[Sent] = []
    found: list[str] = []
    monkeypatch.setattr(app.main, "AGENTS", {**app.main.AGENTS, "courier": entry})
    monkeypatch.setattr("app.product.HANDLERS", [*HANDLERS, *parcel_routes(sent, found)])
    async with a_world(folder, migrated) as world:
        yield Depot(world, sent, found)


def statements(database: Database) -> list[str]:
    """A list that grows with every statement the database runs from now on."""
    ran: list[str] = []
    event.listen(database._engine, "before_cursor_execute", lambda *given: ran.append(given[2]))
    return ran
