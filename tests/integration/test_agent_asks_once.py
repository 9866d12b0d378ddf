"""A question that waits, or that a person said no to, does not come back: not with the hour, nor with a restart."""

from pathlib import Path

import pytest

from app.agents import triager
from app.agents.triager import TriagerState
from tests.support import a_ticket
from tests.support_sweep import asked, reasons, words
from tests.world import World, a_world, awake

pytestmark = pytest.mark.anyio


class StateOfALaterDeploy(TriagerState, frozen=True):
    note: str = "new in this deploy"


async def hours(world: World, count: int) -> list[tuple[int, int]]:
    """That many sweeps by the clock. Of each: how many it asked, and how many wait after it."""
    seen = []
    for _ in range(count):
        assert await world.run_due(hours=1) == 1
        report = await world.report()
        seen.append((report["last_sweep"]["asked"], len(report["parked"])))
    return seen


async def test_five_stale_tickets_are_asked_about_once_and_a_no_lasts(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world(tmp_path, migrated) as world:
        for _ in range(5):
            await world.system.db.write(a_ticket)
        assert await hours(world, 2) == [(5, 5), (0, 5)]
        requests, at = await world.pending(), world.clock.at
    async with a_world(tmp_path, migrated, at) as world:
        assert await hours(world, 2) == [(0, 5)] * 2
        assert await world.pending() == requests
        await world.reject(requests[0])
        answer = await world.client.post(f"/approvals/{requests[1]}/reject", json={"reason": "They pay us."})
        assert answer.status_code == 200
        await world.system.host.drain()
        assert await hours(world, 12) == [(0, 3)] * 12
        at = world.clock.at
    monkeypatch.setattr(triager.Triager, "state_type", StateOfALaterDeploy)
    async with a_world(tmp_path, migrated, at) as world:
        assert await hours(world, 12) == [(0, 3)] * 12
        assert await world.pending() == requests[2:]
        assert len(await asked(world)) == 5
        assert words(world) == {**dict.fromkeys((1, 2), "declined"), **dict.fromkeys((3, 4, 5), "waiting")}
        assert reasons(world)[2] == "a person wants it left open for good: They pay us."
        state = awake(world.system.host, "triager", "main")._agent.state
        assert (sorted(state.declined), state.note) == ([1, 2], "new in this deploy")
