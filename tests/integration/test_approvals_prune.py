"""Cleaning up: what ended or lapsed long ago goes, what is still a memory or still runs stays."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.services import approvals
from db.engine import Database
from db.schema import ApprovalRow
from tests.support import NOW, a_ticket, ago, an_approval
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

YES: dict[str, Any] = {"decision": "approved", "decided_at": ago(0), "use_by": ago(-1)}
DAYS_8 = ago(8)
KEPT: dict[str, dict[str, Any]] = {
    "pending": {"requested_at": DAYS_8},
    "spent, however old": YES | {"use_by": DAYS_8, "claim_id": "mine"},
    "rejected for ever": {"ended": "rejected", "ended_at": DAYS_8},
    "rejected until tomorrow": {"ended": "rejected", "ended_at": DAYS_8, "until_at": ago(-1)},
    "ended yesterday": {"requested_at": DAYS_8, "ended": "expired", "ended_at": ago(1)},
    "lapsed yesterday": {"requested_at": DAYS_8, "expires_at": ago(1)},
}
GONE: dict[str, dict[str, Any]] = {
    "used": {"ended": "used", "ended_at": DAYS_8},
    "cancelled": {"ended": "cancelled", "ended_at": ago(7)},
    "a tombstone": {"ended": "cancelled", "ended_at": DAYS_8, "fingerprint": ""},
    "lapsed unanswered": {"expires_at": DAYS_8},
    "lapsed after a yes": YES | {"use_by": DAYS_8},
    "rejected until yesterday": {"ended": "rejected", "ended_at": DAYS_8, "until_at": ago(1)},
    "rejected, and asked again": {"ended": "rejected", "ended_at": DAYS_8, "superseded_at": ago(1)},
}


async def test_prune_takes_what_ended_or_lapsed_long_ago_and_no_remembered_rejection(database: Database) -> None:
    for ticket, (name, columns) in enumerate((KEPT | GONE).items()):
        await database.write(an_approval, ticket, **{"id": name, **columns})
    pruned = await database.write(approvals.prune, 7, NOW)
    assert (pruned.pruned, pruned.before) == (len(GONE), ago(7))
    assert set(await database.read(lambda s: list(s.scalars(select(ApprovalRow.id))))) == set(KEPT)


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


async def test_prune_over_http_takes_a_week_unless_told_otherwise(world: World) -> None:
    await world.system.db.write(an_approval, id="old", ended="used", ended_at=DAYS_8)
    await world.system.db.write(an_approval, id="new", ended="used", ended_at=ago(1))
    await world.system.db.write(an_approval, 2, id="perhaps not delivered", ended="used", ended_at=ago(1 / 24))
    answer = await world.client.post("/approvals/prune", json={})
    assert (answer.status_code, answer.json()) == (200, {"pruned": 1, "before": ago(7)})
    answer = await world.client.post("/approvals/prune", json={"older_than_days": 0})
    assert answer.json() == {"pruned": 1, "before": ago(2 / 24)}


@pytest.mark.parametrize("days", [-1, 366, 1.5, "7", None, True])
async def test_prune_takes_a_whole_number_of_days_up_to_a_year(world: World, days: Any) -> None:
    answer = await world.client.post("/approvals/prune", json={"older_than_days": days})
    assert answer.status_code == 422


async def test_a_pruned_world_still_remembers_a_no(world: World) -> None:
    ticket = await world.system.db.write(a_ticket)
    await world.sweep()
    await world.reject((await world.pending())[0])
    world.clock.advance(days=400)
    await world.client.post("/approvals/prune", json={"older_than_days": 0})
    assert (await world.sweep())["asked"] == 0
    assert (await world.ticket(ticket)).status == "open"
