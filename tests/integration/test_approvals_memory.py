"""What a person refused is remembered by its row: for how long, for whom, and until somebody says "ask again"."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.runtime.principal import Principal
from app.runtime.tools.approvals import Rejection
from app.runtime.tools.client import Tools
from app.services.approval_gate import REMEMBERED
from tests.support import ago, an_approval
from tests.support_tools import statements
from tests.world import World, a_world, awake

pytestmark = pytest.mark.anyio

CLOSE = "tickets_close"
NO = {"decision": "rejected", "decided_at": ago(1), "ended": "rejected", "ended_at": ago(1)}
NIGHT = Principal.agent("triager", "night").key


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


def tools(world: World, instance: str = "main") -> Tools:
    return awake(world.system.host, "triager", instance)._agent.tools


async def refused(world: World, ticket_id: int, version: int = 1, **columns: Any) -> str:
    return await world.system.db.write(an_approval, ticket_id, version, **(NO | columns))


@pytest.mark.parametrize(
    ("stands", "remembered"),
    [
        ({}, True),
        ({"until_at": ago(-1)}, True),
        ({"until_at": ago(0)}, False),
        ({"superseded_at": ago(0)}, False),
        ({"ended": "cancelled"}, False),
        ({"decision": None, "ended": "expired"}, False),
        ({"decision": None, "ended": None, "ended_at": None}, False),
        ({"principal_key": NIGHT}, False),
        ({"tool": "tickets_reopen"}, False),
    ],
)
async def test_a_no_is_remembered_while_it_stands_and_only_for_its_caller_and_tool(
    world: World, stands: dict[str, Any], remembered: bool
) -> None:
    request = await refused(world, 1, reason="wait for the refund", **stands)
    expected = {"ticket:1": Rejection(request, stands.get("until_at"), "wait for the refund")} if remembered else {}
    assert await tools(world).rejections(CLOSE, ["ticket:1", "ticket:2"]) == expected


async def test_of_two_that_stand_the_newest_is_remembered_and_of_two_the_one_that_stands(world: World) -> None:
    newest = await refused(world, 1, 2, requested_at=ago(2))
    await refused(world, 1, 1, requested_at=ago(3))
    standing = await refused(world, 2, 1, requested_at=ago(3))
    await refused(world, 2, 2, requested_at=ago(2), until_at=ago(0.5))
    met = await tools(world).rejections(CLOSE, ["ticket:1", "ticket:2"])
    assert {subject: one.request_id for subject, one in met.items()} == {"ticket:1": newest, "ticket:2": standing}


async def test_remembering_costs_one_statement_for_any_number_of_subjects_and_reads_only_theirs(world: World) -> None:
    for ticket_id in range(1, 41):
        await refused(world, ticket_id)
    ran = statements(world.system.db)
    assert len(await tools(world).rejections(CLOSE, [f"ticket:{number}" for number in range(1, 1001)])) == 40
    assert len(ran) == 1
    values = {"subjects": "[]", "principal_key": "", "tool": "", "now": ""}
    plan = await world.system.db.read(lambda s: s.execute(text(f"EXPLAIN QUERY PLAN {REMEMBERED}"), values).all())
    assert "SEARCH approvals USING INDEX approvals_of_subject (subject=?)" in [row.detail for row in plan]


async def test_one_instance_is_not_bound_by_what_another_was_refused(world: World) -> None:
    await refused(world, 1)
    assert list(await tools(world).rejections(CLOSE, ["ticket:1"])) == ["ticket:1"]
    assert await tools(world, "night").rejections(CLOSE, ["ticket:1"]) == {}
