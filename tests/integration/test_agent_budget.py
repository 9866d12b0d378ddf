"""An agent's calls a minute, against calls that wait, calls that were approved, and sweeps that need more."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from app.runtime.tools.results import Denied, Done, Pending
from config.agents import AGENTS
from tests.support import a_ticket
from tests.support_tools import Depot, a_depot
from tests.world import World, a_world

pytestmark = pytest.mark.anyio
BUDGET = 10


@pytest.fixture
def opened(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> AbstractAsyncContextManager[Depot]:
    return a_depot(tmp_path, migrated, monkeypatch, calls_per_minute=BUDGET)


@pytest.fixture
def slow_triager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGENTS["triager"], "calls_per_minute", BUDGET)


async def test_a_call_that_waits_spends_budget_and_one_over_it_asks_nobody_and_says_when_to_try_again(
    opened: AbstractAsyncContextManager[Depot],
) -> None:
    async with opened as depot:
        results = [await depot.send({"parcel_id": number}) for number in range(1, 26)]
        assert [type(result) for result in results] == [Pending] * BUDGET + [Denied] * 15
        read = await depot.tools.call("parcels_find", {"label": "a"})
        for refused in (*results[BUDGET:], read):
            assert isinstance(refused, Denied)
            assert (refused.reason, "Try again in a minute" in refused.message) == ("rate-limit", True)
        assert len(await depot.rows()) == len(depot.ledger()) == BUDGET
        depot.world.clock.advance(minutes=1)
        assert isinstance(await depot.tools.call("parcels_find", {"label": "a"}), Done)


async def test_fifteen_calls_approved_together_all_run_once_whatever_the_budget(
    opened: AbstractAsyncContextManager[Depot],
) -> None:
    async with opened as depot:
        requests = []
        for number in range(1, 16):
            if number == BUDGET + 1:
                depot.world.clock.advance(minutes=1)
            result = await depot.send({"parcel_id": number})
            assert isinstance(result, Pending)
            requests.append(result.request_id)
        for number in range(5):  # the budget is spent
            await depot.send({"parcel_id": 100 + number})
        for request in requests:
            await depot.world.approve(request, wake=False)
        for _ in range(10):
            await depot.world.run_due(seconds=30)
        assert sorted(one.parcel_id for one in depot.sent) == list(range(1, 16))
        assert [told[1:] for told in await depot.told()] == [("approved", "ok")] * 15


async def test_no_sixty_seconds_hold_more_calls_than_the_budget_wherever_the_minute_turns(
    opened: AbstractAsyncContextManager[Depot],
) -> None:
    async with opened as depot:
        depot.world.clock.advance(seconds=59, milliseconds=900)
        first = [await depot.tools.call("parcels_find", {"label": "a"}) for _ in range(BUDGET)]
        depot.world.clock.advance(milliseconds=200)
        second = [await depot.tools.call("parcels_find", {"label": "a"}) for _ in range(BUDGET)]
        assert ([type(one) for one in first], [type(one) for one in second]) == ([Done] * BUDGET, [Denied] * BUDGET)


async def test_a_clock_set_back_does_not_use_up_the_budget(opened: AbstractAsyncContextManager[Depot]) -> None:
    async with opened as depot:
        for _ in range(BUDGET):
            await depot.tools.call("parcels_find", {"label": "a"})
        depot.world.clock.advance(hours=-3)
        assert isinstance(await depot.tools.call("parcels_find", {"label": "a"}), Done)


async def stale(world: World, count: int, **columns: object) -> None:
    for _ in range(count):
        await world.system.db.write(a_ticket, **columns)


@pytest.mark.usefixtures("slow_triager")
async def test_a_sweep_that_needs_more_calls_than_the_budget_goes_on_with_the_next_one(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await stale(world, 9)
        await stale(world, 411, last_speaker="requester")  # five pages, and nine to ask about: fourteen calls
        first = await world.sweep()
        asked = await world.pending()
        assert (first["stale"], first["asked"], first["refused"], len(asked)) == (420, 5, 0, 5)
        world.clock.advance(minutes=1, seconds=1)
        second = await world.sweep()
        assert (second["asked"], second["refused"]) == (4, 0)
        assert set(asked) < set(await world.pending())


@pytest.mark.usefixtures("slow_triager")
async def test_a_sweep_whose_pages_the_budget_cuts_short_takes_nothing_back(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await stale(world, 3)
        await stale(world, 417, last_speaker="requester")
        await world.sweep()
        asked = await world.pending()
        summary = await world.sweep()  # the budget's last two calls: three of the five pages stay unread
        assert "calls in a minute" in summary["error"]
        assert await world.pending() == asked
        world.clock.advance(seconds=61)
        assert (await world.sweep())["error"] is None
        assert await world.pending() == asked
