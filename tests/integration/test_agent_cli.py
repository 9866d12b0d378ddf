"""`triager agent`: every instance can be found, looked at and woken; a name that was mistyped makes none."""

import json
from pathlib import Path

import pytest

from app.cli.instances import Instances
from tests.support import a_ticket
from tests.support_cli import in_a_world, printed, triager
from tests.support_host import private
from tests.support_ledger import a_parked_close
from tests.world import World

AWKWARD = [
    *("..", "a/b", "Main", "main", "ä", "a\u0308", "x?mode=memory", "x%2e%2e", "a#b", "é" * 300, "dot.", "space "),
    *("../../../tmp/x", "/etc/passwd", "file:x", "'; DROP TABLE alarms; --", "\u202e", "日本", "-", " "),
]


async def sweep(world: World) -> str:
    """A stale ticket, and the request that asks about it."""
    _, request = await a_parked_close(world)
    return request


def test_every_name_is_an_instance_of_its_own_in_the_folder_and_is_found_again(tmp_path: Path, migrated: Path) -> None:
    async def wake_all(world: World) -> None:
        await world.system.db.write(a_ticket)
        for name in AWKWARD:
            await world.system.host.get("triager", name).call("sweep")

    folder = tmp_path / "data"
    folder.mkdir()
    in_a_world(folder, migrated, wake_all)
    listed = printed(triager(folder, "agent", "list", "--json"))
    assert sorted(one["instance"] for one in listed) == sorted(AWKWARD)
    assert len(list((folder / "agents").glob("*/*.sqlite"))) == len(AWKWARD)
    assert {path.name for path in tmp_path.iterdir()} == {"data"}
    for name in AWKWARD:
        shown = printed(triager(folder, "agent", "show", f"triager/{name}", "--json"))
        assert (shown["instance"], len(shown["parked"])) == (name, 1)
    assert triager(folder, "backup", str(tmp_path / "all.zip")).stdout.count(f"{len(AWKWARD)} instances") == 1


def test_list_tells_of_failures_and_of_agents_that_left_the_registry(tmp_path: Path, migrated: Path) -> None:
    async def retire(world: World) -> None:
        alarms = world.system.host._alarms
        alarms.arm("retired", "eu", "2026-03-09T12:00:00.000Z")
        alarms.failed(alarms.due(world.clock.at)[0], world.clock.at)

    in_a_world(tmp_path, migrated, retire)
    listed = printed(triager(tmp_path, "agent", "list", "--json"))
    assert listed == [
        {
            "agent": "retired",
            "instance": "eu",
            "next_at": "2026-03-09T12:00:02.000Z",
            "failures": 1,
            "registered": False,
            "halted": None,
            "paused": [],
        },
        {
            "agent": "triager",
            "instance": "main",
            "next_at": "2026-03-09T13:00:00.000Z",
            "failures": 0,
            "registered": True,
            "halted": None,
            "paused": [],
        },
    ]
    lines = triager(tmp_path, "agent", "list").stdout.splitlines()
    assert lines[0] == "retired/eu  wakes 2026-03-09T12:00:02.000Z, failed 1 times, of no registered agent"
    assert printed(triager(tmp_path, "agent", "show", "retired/eu", "--json")) == {
        "agent": "retired",
        "instance": "eu",
        "registered": False,
        "halted": None,
        "report": None,
        "schedules": [],
        "parked": [],
    }
    refused = triager(tmp_path, "agent", "wake", "retired/eu")
    assert (refused.exit_code, "Nothing was woken" in refused.stderr) == (1, True)


def test_show_tells_what_waits_and_which_jobs_are_set_aside(tmp_path: Path, migrated: Path) -> None:
    async def rename_a_job(world: World) -> str:
        request = await sweep(world)
        private(
            *(world.system.host, "triager", "main"),
            "INSERT INTO schedules (callback, key, expression, zone, payload, next_at)"
            " VALUES ('tidy', 'k', '5 * * * *', 'UTC', 'null', '2026-03-09T12:05:00.000Z')",
        )
        return request

    request = in_a_world(tmp_path, migrated, rename_a_job)
    shown = printed(triager(tmp_path, "agent", "show", "triager/main", "--json"))
    assert shown["report"]["last_sweep"]["asked"] == 1
    assert {(one["callback"], one["set_aside"]) for one in shown["schedules"]} == {("sweep", False), ("tidy", True)}
    assert [(one["request_id"], one["tool"], one["subject"]) for one in shown["parked"]] == [
        (request, "tickets_close", "ticket:1")
    ]
    assert (
        "job tidy k (5 * * * * UTC) set aside: there is no such method"
        in triager(tmp_path, "agent", "show", "triager").stdout
    )


def test_wake_carries_out_what_was_answered_however_far_off_the_next_look_is(tmp_path: Path, migrated: Path) -> None:
    async def approve_unheard(world: World) -> None:
        request = await sweep(world)
        await world.approve(request, wake=False)
        # A real clock will wake it: the answer must be usable then, and the next look be far off.
        await world.system.db.write(
            lambda s: (
                s.connection().exec_driver_sql("UPDATE approvals SET use_by = '2999-01-01T00:00:00.000Z'") and None
            )
        )
        private(world.system.host, "triager", "main", "UPDATE ledger SET next_check_at = '2999-01-01T00:00:00.000Z'")

    async def status(world: World) -> str:
        return (await world.ticket(1)).status

    in_a_world(tmp_path, migrated, approve_unheard)
    assert printed(triager(tmp_path, "agent", "wake", "triager/main", "--json")) == {
        "agent": "triager",
        "instance": "main",
        "waiting": 0,
    }
    assert in_a_world(tmp_path, migrated, status) == "closed"


def test_runs_lists_the_newest_first_with_its_report(tmp_path: Path, migrated: Path) -> None:
    async def sweep_twice_and_break_off(world: World) -> None:
        await sweep(world)
        await world.sweep()
        private(world.system.host, "triager", "main", "INSERT INTO runs (started_at, taken) VALUES ('now', '[1]')")

    in_a_world(tmp_path, migrated, sweep_twice_and_break_off)
    runs = printed(triager(tmp_path, "agent", "runs", "triager/main", "--json"))
    assert [(run["id"], run["taken"], run["report"] and run["report"]["asked"]) for run in runs] == [
        (3, [1], None),
        (2, [], 0),
        (1, [1], 1),
    ]
    lines = triager(tmp_path, "agent", "runs", "triager/main").stdout.splitlines()
    assert lines[0] == "3  now  under way, or broken off"
    assert "asked 1" in lines[2]


@pytest.mark.parametrize("command", ["show", "wake", "runs"])
@pytest.mark.parametrize("name", ["triager/mian", "retired/main", "triager/\udcff", "/", ""])
def test_a_name_that_is_no_instance_is_refused_and_makes_none(
    command: str, name: str, tmp_path: Path, migrated: Path
) -> None:
    in_a_world(tmp_path, migrated, sweep)
    known = Instances(tmp_path / "agents").known()
    refused = triager(tmp_path, "agent", command, name)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "There is no instance" in refused.stderr
    assert Instances(tmp_path / "agents").known() == known


def test_an_installation_whose_host_never_ran_has_its_main_instances_and_no_others(
    tmp_path: Path, migrated: Path
) -> None:
    triager(tmp_path, "db", "upgrade")
    assert printed(triager(tmp_path, "agent", "list", "--json")) == []
    assert not list((tmp_path / "agents").glob("*/*"))
    shown = triager(tmp_path, "agent", "show", "triager/main", "--json")
    assert json.loads(shown.stdout)["report"]["last_sweep"] is None
