"""A paused job stands, over restarts and deploys, until somebody takes the pause back; its note says why."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support import NOW
from tests.support_cli import in_a_world, printed, triager
from tests.support_host import private
from tests.world import World, a_world, awake

pytestmark = pytest.mark.anyio


def sweeps(world: World) -> int:
    return len(private(world.system.host, "triager", "main", "SELECT id FROM runs"))


async def test_it_is_not_due_and_wakes_nobody_until_it_is_late(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        host = world.system.host
        assert await host.pause("triager", "main", "sweep", "", "holidays", "Ana")
        assert host._alarms.next_at(set()) is None
        assert await world.run_due(hours=3) == 0
    async with a_world(tmp_path, migrated, NOW + timedelta(hours=4)) as world:  # a start registers it again
        host = world.system.host
        assert await world.run_due(hours=1) == 0
        agent = awake(host, "triager", "main")._agent
        await agent.schedule("30 * * * *", agent.sweep)  # type: ignore[attr-defined]  # another time, from a deploy
        assert await world.run_due(hours=1) == 0
        assert sweeps(world) == 0
        assert await host.pause("triager", "main", "sweep", "", None, "Ana")
        assert [await world.run_due(), await world.run_due(minutes=29), await world.run_due(minutes=1)] == [1, 0, 1]
        assert sweeps(world) == 2


async def test_another_key_of_the_same_job_is_another_job(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        agent = awake(world.system.host, "triager", "main")._agent
        await agent.schedule("15 * * * *", agent.sweep, key="more")  # type: ignore[attr-defined]
        await world.system.host.pause("triager", "main", "sweep", "", "too often", "Ana")
        assert await world.run_due(hours=1) == 1
        assert sweeps(world) == 1


async def test_a_file_from_before_has_no_pauses_and_takes_one(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        private(world.system.host, "triager", "main", "DROP TABLE pauses")
    async with a_world(tmp_path, migrated) as world:
        assert await world.system.host.pause("triager", "main", "sweep", "", "holidays", "Ana")


async def test_a_pause_from_before_names_were_kept_still_holds(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        assert await world.system.host.pause("triager", "main", "sweep", "", "holidays", "Ana")
        private(world.system.host, "triager", "main", 'ALTER TABLE pauses DROP COLUMN "by"')
    async with a_world(tmp_path, migrated) as world:
        assert await world.run_due(hours=1) == 0
        [job] = (await world.system.host.get("triager", "main").call("overview"))["jobs"]
        assert (job["note"], job["paused_by"]) == ("holidays", None)


def test_the_shell_pauses_shows_and_unpauses(tmp_path: Path, migrated: Path) -> None:
    async def nothing(_: World) -> None: ...

    in_a_world(tmp_path, migrated, nothing)
    paused = triager(tmp_path, "agent", "pause", "triager/main", "sweep", "--note", "holidays", "--json")
    assert printed(paused)["note"] == "holidays"
    [job] = printed(triager(tmp_path, "agent", "show", "triager/main", "--json"))["schedules"]
    assert (job["note"], job["paused_at"] is not None) == ("holidays", True)
    assert "paused by the machine's owner since" in triager(tmp_path, "agent", "show", "triager/main").stdout
    assert "paused: sweep" in triager(tmp_path, "agent", "list").stdout
    assert triager(tmp_path, "agent", "unpause", "triager/main", "sweep").stdout == "Unpaused.\n"
    [job] = printed(triager(tmp_path, "agent", "show", "triager/main", "--json"))["schedules"]
    assert job["paused_at"] is None
    assert "paused" not in triager(tmp_path, "agent", "list").stdout


@pytest.mark.parametrize(
    "command",
    [
        ("pause", "triager/main", "swep", "--note", "x"),
        ("pause", "triager/main", "sweep", "eu", "--note", "x"),
        ("pause", "triager/mian", "sweep", "--note", "x"),
        ("unpause", "triager/main", "sweep"),
    ],
)
def test_what_is_no_job_or_not_paused_is_refused(tmp_path: Path, migrated: Path, command: tuple[str, ...]) -> None:
    async def nothing(_: World) -> None: ...

    in_a_world(tmp_path, migrated, nothing)
    refused = triager(tmp_path, "agent", *command)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "There is no" in refused.stderr
