"""What an older release wrote is read, and swept on from: its state, its runs, its tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support_host import private
from tests.support_ledger import settled
from tests.support_sweep import asked, queue, swept, words
from tests.world import World, a_world, awake

pytestmark = pytest.mark.anyio

LAST = {"at": "2026-03-09T11:00:00.000Z", "open": 4, "stale": 4, "asked": 3, "closed": 0, "refused": 0, "deferred": 1}
STATE = {
    "last_run_at": LAST["at"],
    "last_sweep": {**LAST, "error": None},
    "declined": {"7": None},
    "cooling": {"8": "2026-03-09T20:00:00Z"},
    "settled": [
        {"request_id": "r7", "tool": "tickets_close", "status": "rejected", "retried": None, "at": LAST["at"]},
        {"request_id": "r8", "tool": "tickets_close", "status": "expired", "retried": None, "at": LAST["at"]},
    ],
}
AS_IT_WAS = (
    "DROP TABLE run_details",
    "DROP TABLE pauses",
    "ALTER TABLE ledger ADD COLUMN asked INTEGER NOT NULL DEFAULT 0",
    "UPDATE ledger SET asked = 1",
)


def on_its_database(world: World, query: str, *params: Any) -> list[dict[str, Any]]:
    return private(world.system.host, "triager", "main", query, *params)


async def as_the_older_release_left_it(world: World) -> None:
    """One question waits; ticket 7 is declined, 8 cools down. Its last sweep is in the state, and its run is flat."""
    await queue(world, 1, 1)
    await swept(world, hours=0)
    await queue(world, 7, 9)
    for statement in AS_IT_WAS:
        on_its_database(world, statement)
    on_its_database(
        world, "UPDATE runs SET report = ?, finished_at = ?", json.dumps({**LAST, "error": None}), LAST["at"]
    )
    on_its_database(world, "INSERT OR REPLACE INTO state VALUES (1, ?)", json.dumps(STATE))


async def test_a_report_is_made_of_what_an_older_release_wrote(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await as_the_older_release_left_it(world)
    async with a_world(tmp_path, migrated) as world:
        report = await world.report()
        assert report["last_run_at"] == LAST["at"]
        assert report["last_sweep"] == {**LAST, "error": None}
        assert (report["progress"]["next"], report["progress"]["sweeps"]) == (None, 0)
        assert (report["declined"], report["cooling"]) == ({"7": None}, {"8": "2026-03-09T20:00:00.000Z"})
        assert await settled(world) == [("r7", "rejected", None), ("r8", "expired", None)]
        assert [one["subject"] for one in report["parked"]] == ["ticket:1"]
        assert report["answers"]["approval_rate"] is None


async def test_the_first_sweep_of_this_release_goes_on_from_there(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await as_the_older_release_left_it(world)
        [request] = await world.pending()
    async with a_world(tmp_path, migrated) as world:
        assert await world.system.host.get("triager", "main").call("verdicts") == []
        assert await swept(world) == [7, 9]  # nobody's no to 7 is in the approvals, and those are the truth
        assert words(world) == {1: "waiting", 7: "asked", 8: "cooling", 9: "asked"}
        await world.approve(request)
        assert (await world.ticket(1)).status == "closed"
        assert (await world.report())["answers"]["approved"] == 1


async def test_a_no_of_the_older_release_holds_as_its_row_is_kept(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 7, 8)
        await swept(world)
        await world.reject((await world.pending())[0])
        state = awake(world.system.host, "triager", "main")._agent.state
        assert state.declined == {7: None}
        on_its_database(world, "UPDATE state SET value = ?", json.dumps({"declined": {"7": None}}))
    async with a_world(tmp_path, migrated, world.clock.at) as world:
        assert [await swept(world) for _ in range(3)] == [[], [], []]
        assert words(world) == {7: "declined", 8: "waiting"}
        assert await asked(world) == [7, 8]


async def test_a_run_that_the_older_release_left_unfinished_is_continued(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await as_the_older_release_left_it(world)
        on_its_database(world, "INSERT INTO runs (started_at, taken) VALUES ('2026-03-09T12:00:00.000Z', '[1]')")
    async with a_world(tmp_path, migrated) as world:
        summary = await world.sweep()
        assert (summary["asked"], words(world)[1]) == (3, "asked")
        assert await asked(world) == [1, 7, 9]
