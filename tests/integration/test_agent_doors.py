"""Programs' doors to an agent: what it knows, what it would do, and the pause of one of its jobs."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support import a_ticket
from tests.world import World, a_world

pytestmark = pytest.mark.anyio
AGENT = "/ops/agents/triager"


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        await world.system.db.write(a_ticket)
        yield world


async def test_the_overview_has_the_report_the_jobs_the_limits_and_the_sweeps(world: World) -> None:
    await world.sweep()
    found = (await world.client.get(AGENT)).json()
    assert found.keys() == {"report", "policy", "jobs", "budget", "sweeps"}
    assert [(job["callback"], job["next_at"], job["paused_at"]) for job in found["jobs"]] == [
        ("sweep", "2026-03-09T13:00:00.000Z", None)
    ]
    assert found["budget"] == {"calls": 2, "calls_per_minute": 30, "room": 49}
    [sweep] = found["sweeps"]
    assert (sweep["run"], sweep["asked"], sweep["error"]) == (1, 1, None)


async def test_verdicts_are_of_the_run_that_is_named_or_of_the_last(world: World) -> None:
    assert (await world.client.get(f"{AGENT}/verdicts")).json() == {"verdicts": []}
    await world.sweep()
    await world.sweep()
    for query, word in (("?run=1", "asked"), ("?run=2", "waiting"), ("", "waiting")):
        [verdict] = (await world.client.get(f"{AGENT}/verdicts{query}")).json()["verdicts"]
        assert verdict["verdict"] == word
    refused = await world.client.get(f"{AGENT}/verdicts?run=3")
    assert (refused.status_code, "No sweep 3 is kept" in refused.json()["detail"]) == (404, True)


async def test_the_plan_asks_nobody(world: World) -> None:
    plan = (await world.client.get(f"{AGENT}/plan")).json()
    assert [one["verdict"] for one in plan["verdicts"]] == ["ask"]
    assert await world.pending() == []


async def test_a_pause_names_who_and_why_and_both_ways_are_history(world: World) -> None:
    paused = await world.client.post(f"{AGENT}/pause", json={"callback": "sweep", "note": "holidays"})
    assert (paused.status_code, paused.json()) == (200, {"callback": "sweep", "key": "", "note": "holidays"})
    [job] = (await world.client.get(AGENT)).json()["jobs"]
    assert (job["paused_by"], job["note"]) == ("Ops On-Call", "holidays")
    assert await world.run_due(hours=2) == 0
    assert (await world.client.post(f"{AGENT}/unpause", json={"callback": "sweep"})).status_code == 200
    assert await world.run_due() == 1
    assert await world.events("agent:triager") == ["paused", "unpaused"]


@pytest.mark.parametrize(
    ("verb", "body", "status"),
    [
        ("pause", {"callback": "swep", "note": "x"}, 404),
        ("pause", {"callback": "sweep", "key": "eu", "note": "x"}, 404),
        ("unpause", {"callback": "sweep"}, 404),
        ("pause", {"callback": "sweep", "note": ""}, 422),
        ("pause", {"callback": "sweep"}, 422),
    ],
)
async def test_what_is_no_job_or_not_paused_is_refused_and_no_history(
    world: World, verb: str, body: dict[str, str], status: int
) -> None:
    refused = await world.client.post(f"{AGENT}/{verb}", json=body)
    assert (refused.status_code, "Nothing was" in refused.json()["detail"]) == (status, True)
    assert await world.events("agent:triager") == []


async def test_a_job_of_a_halted_agent_can_be_paused(world: World) -> None:
    await world.client.post("/ops/agents/halt", json={"agent": "triager"})
    paused = await world.client.post(f"{AGENT}/pause", json={"callback": "sweep", "note": "x"})
    assert paused.status_code == 200
