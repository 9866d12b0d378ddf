"""A queue longer than a sweep: no place is spent on who will not be asked, and nobody is forgotten."""

from pathlib import Path

import pytest

from config.agents import AGENTS
from tests.support_sweep import adds_up, asked, bulk, kept_verdicts, queue, reasons, route_fails, swept, words
from tests.world import World, a_world

pytestmark = pytest.mark.anyio


async def forty(world: World) -> None:
    """1 to 12 declined, 13 to 22 waiting for people, 23 to 40 fresh; the lowest quiet the longest."""
    await queue(world, 1, 12)
    for _ in range(2):
        await swept(world)
        for request in await world.pending():
            await world.reject(request)
    await queue(world, 13, 22)
    assert await swept(world) == list(range(13, 23))
    await queue(world, 23, 40)


async def test_declined_and_waiting_tickets_take_no_place_and_the_rest_is_asked_in_order(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await forty(world)
        assert [await swept(world) for _ in range(3)] == [list(range(23, 33)), list(range(33, 41)), []]
        assert len(await asked(world)) == 40
        last = kept_verdicts(world)[-1]
        assert [one["ticket_id"] for one in last] == list(range(1, 41))
        assert [one["verdict"] for one in last] == ["declined"] * 12 + ["waiting"] * 28


async def test_the_report_counts_what_was_asked_and_left_and_says_where_the_pass_is(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await forty(world)
        reports = []
        for _ in range(3):
            await swept(world)
            reports.append(await world.report())
        sums = [(one["last_sweep"]["stale"], one["last_sweep"]["asked"]) for one in reports]
        assert sums == [(40, 10), (40, 8), (40, 0)]
        assert all(adds_up(one["last_sweep"]) for one in reports)
        progress = [one["progress"] for one in reports]
        assert [(one["sweeps"], one["visited"], one["sweeps_for_all"]) for one in progress] == [
            (1, 32, 2),
            (2, 40, 2),
            (1, 40, 1),
        ]
        first, second, third = (one["next"] for one in progress)
        assert first.endswith("_32")
        assert (second, third) == (None, None)


@pytest.mark.parametrize("status", [503, 500, 409, 403])
async def test_a_ticket_that_cannot_be_asked_about_stops_no_other_and_holds_no_place_for_ever(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await forty(world)
        route_fails(monkeypatch, lambda tool, given: tool == "tickets_close" and given["ticket_id"] == 23, status)
        assert [await swept(world) for _ in range(2)] == [list(range(24, 33)), list(range(33, 41))]
        assert await swept(world) == []
        assert words(world)[23] == "refused"
        assert "Out of order." in reasons(world)[23]
        monkeypatch.undo()
        assert await swept(world) == [23]


async def test_more_tickets_than_a_sweep_reads_that_are_never_asked_about_do_not_starve_the_rest(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await bulk(world, [300.0] * 620, last_speaker="requester")
        await queue(world, 1001, 1003, last_activity_at="2026-01-01T00:00:00.000Z")
        sweeps = [await swept(world) for _ in range(3)]
        assert sweeps == [[], [1001, 1002, 1003], []]
        looked_at = [len(verdicts) for verdicts in kept_verdicts(world)]
        assert looked_at == [500, 123, 503]  # what waits is looked at again, wherever it is


async def test_a_budget_that_ends_within_a_sweep_leaves_the_rest_in_its_place(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(AGENTS["triager"], "calls_per_minute", 4)
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 5)
        assert await swept(world) == [1, 2, 3]
        assert list(words(world).values()) == ["asked"] * 3 + ["later"] * 2
        assert "More than 4 calls in a minute" in reasons(world)[4]
        assert (await world.report())["progress"]["visited"] == 3
        assert await swept(world) == [4, 5]
        assert (await world.report())["progress"]["next"] is None


async def test_a_list_that_breaks_off_between_two_pages_is_no_empty_list(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is taken back, nobody is asked, and the place is kept."""
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 12)
        await bulk(world, [30.0] * 150, last_speaker="requester")
        first = await swept(world)
        before, progress = await world.pending(), (await world.report())["progress"]
        second_page = "2026-"  # the first begins behind a ticket of 2025
        route_fails(monkeypatch, lambda tool, given: given.get("after", "").startswith(second_page))
        summary = await world.sweep()
        assert (summary["error"], summary["asked"], summary["stale"]) == (
            "tickets_index answered 503: Out of order.",
            0,
            0,
        )
        assert kept_verdicts(world)[-1] == []
        assert await world.pending() == before
        assert (await world.report())["progress"] == progress
        monkeypatch.undo()
        assert (first, await swept(world)) == (list(range(1, 11)), [11, 12])


async def test_what_waits_is_not_taken_for_gone_when_it_cannot_be_looked_up(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 12)
        await swept(world)
        before = await world.pending()
        route_fails(monkeypatch, lambda tool, given: "ids" in given)
        summary = await world.sweep()
        assert "503" in summary["error"]
        assert await world.pending() == before
        assert len(await asked(world)) == 10


async def test_as_many_questions_wait_as_may_and_the_next_sweep_begins_where_they_ended(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(AGENTS["triager"], "open_requests", 13)
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 20)
        assert [len(await swept(world)) for _ in range(3)] == [10, 3, 0]
        told = {one["reason"] for one in kept_verdicts(world)[-1] if one["verdict"] == "later"}
        assert told == {"waiting for people: as many questions are open as may be"}
        for request in await world.pending():
            await world.reject(request)
        assert await swept(world) == list(range(14, 21))
