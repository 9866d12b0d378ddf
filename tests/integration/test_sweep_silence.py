"""Nobody answers: the question expires, the ticket is left alone for a day, and is then asked about again."""

from pathlib import Path

import pytest

from tests.support_ledger import settled
from tests.support_sweep import asked, queue, reasons, swept, words
from tests.world import a_world

pytestmark = pytest.mark.anyio


async def test_an_unanswered_question_is_put_again_a_day_after_its_end_and_not_sooner(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 2)
        assert await swept(world) == [1, 2]
        [first, second] = await world.pending()
        await world.reject(first)
        await world.run_due(hours=72, seconds=5)
        assert await settled(world) == [(first, "rejected", None), (second, "expired", None)]
        assert (await world.report())["declined"] == {"1": None}  # silence is no refusal
        assert await swept(world, hours=0) == []
        assert words(world) == {1: "declined", 2: "cooling"}
        assert reasons(world)[2] == "nobody answered the last question; not asked again before 2026-03-13 13:00 UTC"
        assert [await swept(world, hours) for hours in (23, 1)] == [[], [2]]
        assert await asked(world) == [1, 2, 2]
        assert (await world.report())["cooling"] == {}


async def test_how_often_people_answered_and_how_long_it_took_is_told(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 4)
        await swept(world)
        requests = await world.pending()
        for request in requests[:3]:
            world.clock.advance(minutes=10)
            await (world.reject(request) if request == requests[1] else world.approve(request))
        await world.run_due(hours=72)
        assert (await world.report())["answers"] == {
            "approved": 2,
            "rejected": 1,
            "expired": 1,
            "approval_rate": 0.667,
            "median_wait_s": 1200.0,
        }


async def test_a_clock_that_was_far_ahead_keeps_nobody_from_being_asked_again_for_longer_than_a_day(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 2)
        assert await swept(world) == [1, 2]
        await world.run_due(days=400)
        assert set((await world.report())["cooling"]) == {"1", "2"}
        world.clock.advance(days=-400)
        later = [await swept(world) for _ in range(25)]
        assert later == [[]] * 24 + [[1, 2]]
