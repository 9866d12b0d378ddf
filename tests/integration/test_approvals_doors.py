"""Who may answer: people who may operate, as themselves. No agent, no tools token, no name in a body."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy.orm import Session

from app.runtime.principal import IN_PROCESS, InProcess, Principal
from app.services import tokens
from tests.support import NOW, TRIAGER, a_ticket, an_approval, an_operator
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

DOORS = [
    ("GET", "/approvals"),
    ("POST", "/approvals/request-1-1/approve"),
    ("POST", "/approvals/request-1-1/reject"),
    ("POST", "/approvals/request-1-1/ask-again"),
    ("POST", "/approvals/request-1-1/undo"),
    ("POST", "/approvals/answer"),
    ("POST", "/approvals/prune"),
    ("POST", "/console/approvals/request-1-1/approve"),
    ("GET", "/ops/agents/triager"),
    ("POST", "/ops/agents/triager/sweep"),
]
TOOLS, READER = "trg_tools_secret", "trg_reader_secret"


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        await world.system.db.write(an_approval)
        await world.system.db.write(_others)
        yield world


def _others(session: Session) -> None:
    """A tools token that may close, and a person who may only look."""
    an_operator(session, name="Reader", email="reader@example.test", abilities=[])
    given: dict[str, Any] = {"expires_at": None}
    tokens.issue(session, TOOLS, NOW, name="tools", email="ops@example.test", scopes=["tool:tickets_close"], **given)
    tokens.issue(session, READER, NOW, name="reader", email="reader@example.test", scopes=[], **given)


def with_token(world: World, token: str | None) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.ASGITransport(world.system.app)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)


def as_(world: World, principal: Principal) -> httpx.AsyncClient:
    """A client whose requests are calls from inside, of this principal."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await world.system.app({**scope, IN_PROCESS: InProcess(principal)}, receive, send)

    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


async def test_a_person_who_may_only_look_sees_the_questions(world: World) -> None:
    page = (await with_token(world, READER).get("/approvals")).json()
    assert [one["id"] for one in page["pending"]] == ["request-1-1"]
    assert (await with_token(world, READER).get("/ops/agents/triager")).status_code == 200


async def test_nobody_else_comes_in(world: World) -> None:
    tools = Principal("token", "tools", "tools", frozenset({"tool:tickets_close"}))
    reader = with_token(world, READER)
    refused = [
        (with_token(world, TOOLS), {403}),
        (reader, {403}),
        (as_(world, TRIAGER), {403}),
        (as_(world, tools), {403}),
        (with_token(world, None), {303, 401}),
    ]
    for method, path in DOORS:
        for who, (client, statuses) in enumerate(refused):
            if client is reader and method == "GET":
                continue
            body = {} if method == "GET" else {"json": {}}
            assert (await client.request(method, path, **body)).status_code in statuses, (method, path, who)
    row = await world.approval("request-1-1")
    assert (row.decision, row.ended) == (None, None)


async def test_the_name_of_who_answered_comes_from_the_login(world: World) -> None:
    forged = {"decided_by": "ops@example.test"}
    assert (await world.client.post("/approvals/request-1-1/approve", json=forged)).status_code == 422
    answered = await world.client.post("/approvals/request-1-1/approve", json={})
    assert answered.json()["decided_by"] == "Ops On-Call"


@pytest.mark.parametrize("path", ["/agents", "/agents/", "/agents/triager/main", "/agents/x/y/../z"])
async def test_an_agent_cannot_be_reached_from_outside(world: World, path: str) -> None:
    visitor = with_token(world, None)
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        for client in (world.client, visitor):
            assert (await client.request(method, path)).status_code == 403, method


async def test_an_operator_sweeps_and_reads_the_report(world: World) -> None:
    await world.system.db.write(a_ticket)
    swept = (await world.client.post("/ops/agents/triager/sweep")).json()["swept"]
    assert (swept["open"], swept["stale"], swept["asked"]) == (1, 1, 1)
    report = (await world.client.get("/ops/agents/triager")).json()["report"]
    assert report["last_sweep"] == swept
    assert [one["subject"] for one in report["parked"]] == ["ticket:1"]
