"""Halting by the API, in the console and at a shell: whoever meets the brake reads who, since when, why, what next."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from app.cli import brakes as cli
from app.cli import control
from app.cli.operations import commands
from app.runtime.durable.lock import HostLock
from db.schema import BrakeRow
from tests.support import a_ticket
from tests.support_brakes import brake, halt
from tests.support_cli import in_a_world, printed, triager
from tests.support_ledger import a_parked_close, settled
from tests.world import World, a_world

pytestmark = pytest.mark.anyio
SINCE = "2026-03-09T12:00:00.000Z"
ALL = {"agent": "*", "by": "Ops On-Call", "at": SINCE, "note": "a leak"}


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


async def post(world: World, verb: str, **body: Any) -> Any:
    response = await world.client.post(f"/ops/agents/{verb}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def test_the_first_halt_stands_and_both_ways_are_history(world: World) -> None:
    assert await post(world, "halt", note="a leak") == {"changed": True, "brakes": [ALL]}
    world.clock.advance(hours=1)
    assert await post(world, "halt", note="me too") == {"changed": False, "brakes": [ALL]}
    assert (await world.client.get("/ops/agents/brakes")).json() == [ALL]
    assert await post(world, "resume") == {"changed": True, "brakes": []}
    assert await post(world, "resume") == {"changed": False, "brakes": []}
    assert await world.events("agents") == ["halted", "resumed"]


async def test_letting_all_go_leaves_the_halt_of_one(world: World) -> None:
    own = ALL | {"agent": "triager", "note": None}
    await post(world, "halt", agent="triager")
    assert (await post(world, "halt", note="a leak"))["brakes"] == [ALL, own]
    assert (await post(world, "resume"))["brakes"] == [own]
    refused = await world.client.post("/ops/agents/triager/sweep")
    assert (refused.status_code, refused.json()["state"]) == (409, "halted")
    assert "To let it go on: triager resume triager" in refused.json()["detail"]
    assert (await world.client.get("/ops/agents/triager")).status_code == 200
    await post(world, "resume", agent="triager")
    assert (await world.client.post("/ops/agents/triager/sweep")).status_code == 200
    assert await world.events("agent:triager") == ["halted", "resumed"]


@pytest.mark.parametrize("verb", ["halt", "resume"])
@pytest.mark.parametrize("agent", ["triagr", "*", ""])
async def test_a_name_that_is_no_agents_is_refused(world: World, verb: str, agent: str) -> None:
    refused = await world.client.post(f"/ops/agents/{verb}", json={"agent": agent})
    assert refused.status_code == 404
    assert "Nothing was" in refused.json()["detail"]
    assert (await world.client.get("/ops/agents/brakes")).json() == []


async def test_the_console_shows_what_is_halted_and_freezes_what_cannot_be_answered(world: World) -> None:
    _, request = await a_parked_close(world)
    browser = world.client
    assert 'class="alert bad halted"' not in (await browser.get("/")).text
    assert (await browser.post("/console/halt")).status_code == 303
    page = (await browser.get("/")).text
    assert "Every agent is halted by Ops On-Call since" in page
    assert "It cannot be answered now" in page
    for verb in ("approve", "reject"):
        assert f"/console/approvals/{request}/{verb}" not in page
        refused = await browser.post(f"/console/approvals/{request}/{verb}")
        assert (refused.status_code, "Nothing was decided" in refused.text) == (409, True)
    refused = await browser.post("/console/sweep")
    assert (refused.status_code, "Nothing was executed" in refused.text) == (409, True)
    await browser.post("/console/resume", data={"agent": ""})
    page = (await browser.get("/")).text
    assert "is halted" not in page
    assert "It cannot be answered now" not in page


async def test_the_card_of_an_agent_that_is_not_halted_can_be_answered(world: World) -> None:
    await a_parked_close(world)
    await brake(world, "courier")
    page = (await world.client.get("/")).text
    assert "The agent courier is halted by" in page
    assert "It cannot be answered now" not in page


def test_the_shell_halts_without_a_host_and_a_command_of_its_own_meets_the_brake(
    tmp_path: Path, migrated: Path
) -> None:
    in_a_world(tmp_path, migrated, lambda world: world.system.db.write(a_ticket))
    said = triager(tmp_path, "halt", "--note", "a leak")
    assert said.exit_code == 0
    assert "Every agent is halted by the machine's owner since" in said.stdout
    assert "No host runs here" in said.stdout
    for command in (("sweep",), ("agent", "wake", "triager/main")):
        refused = triager(tmp_path, *command)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert "(a leak). Nothing was executed. To let it go on: triager resume" in refused.stderr
    held = triager(tmp_path, "agent", "show", "triager/main")
    assert held.stdout.startswith("halted by the machine's owner since 20")
    assert "triager/main  halted by the machine's owner since 20" in triager(tmp_path, "agent", "list").stdout
    for command in (("list",), ("show", "triager/main")):
        told = printed(triager(tmp_path, "agent", *command, "--json"))
        assert (told[0] if command == ("list",) else told)["halted"]["note"] == "a leak"
    again = printed(triager(tmp_path, "halt", "--json"))
    assert (again["changed"], again["host"], len(again["brakes"])) == (False, "none runs", 1)
    assert printed(triager(tmp_path, "resume", "--json")) == {"changed": True, "brakes": [], "host": "none runs"}
    assert "There was no such halt" in triager(tmp_path, "resume").stdout
    assert printed(triager(tmp_path, "sweep", "--json"))["asked"] == 1


def test_the_shell_says_who_is_halted_still_where_it_let_nobody_go(tmp_path: Path, migrated: Path) -> None:
    in_a_world(tmp_path, migrated, settled)
    triager(tmp_path, "halt", "triager")
    refused = triager(tmp_path, "resume")
    said = "All were not halted. Nothing was resumed: triager still is, by name. Run: triager resume triager\n"
    assert (refused.exit_code, refused.stdout, refused.stderr) == (1, "", said)
    assert triager(tmp_path, "resume", "triager").exit_code == 0
    triager(tmp_path, "halt")
    refused = triager(tmp_path, "resume", "triager")
    said = "triager was not halted by name. Nothing was resumed: all are halted. Run: triager resume\n"
    assert (refused.exit_code, refused.stdout, refused.stderr) == (1, "", said)


async def test_a_note_that_drives_terminals_is_refused_and_one_from_before_is_printed_as_escapes(
    tmp_path: Path, world: World
) -> None:
    refused = await world.client.post("/ops/agents/halt", json={"note": "\x1b[2Jgone"})
    assert refused.status_code == 422
    for command in (("halt",), ("agent", "pause", "triager/main", "sweep")):
        told = await asyncio.to_thread(triager, tmp_path, *command, "--note", "\x1b[2Jgone")
        assert (told.exit_code, "printable characters. Nothing was changed." in told.stderr) == (1, True)
    assert (await world.client.get("/ops/agents/brakes")).json() == []
    row = {"agent": "*", "by": "Ops", "at": SINCE, "note": "\x1b[2J\u202egone"}
    await world.system.db.write(lambda s: s.execute(insert(BrakeRow).values(row)) and None)
    for verb in ("halt", "sweep"):
        told = await asyncio.to_thread(triager, tmp_path, verb)
        assert r"(\x1b[2J\u202egone)" in told.output
        assert "\x1b" not in told.output


@pytest.mark.parametrize("verb", ["halt", "resume"])
def test_the_shell_refuses_a_name_that_is_no_agents(tmp_path: Path, migrated: Path, verb: str) -> None:
    in_a_world(tmp_path, migrated, settled)
    refused = triager(tmp_path, verb, "triagr")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert 'No agent is named "triagr". Nothing was' in refused.stderr


@asynccontextmanager
async def serving(world: World) -> AsyncIterator[None]:
    """The socket and the lock of a process that serves, in this one."""
    settings, lock = world.system.settings, HostLock(world.system.settings.host_lock)
    assert lock.take() is None
    try:
        async with control.listening(control.socket_path(settings.data_dir), commands(world.system)):
            yield
    finally:
        lock.release()


async def test_beside_a_running_host_the_shell_halts_it_at_once_and_lets_it_deliver(
    tmp_path: Path, world: World
) -> None:
    ticket, request = await a_parked_close(world)
    await world.approve(request, wake=False)
    async with serving(world):
        halted = await asyncio.to_thread(triager, tmp_path, "halt", "triager", "--json")
        assert printed(halted)["host"] == "told"
        assert world.system.host._brakes.agents == {"triager"}
        refused = await asyncio.to_thread(triager, tmp_path, "sweep")
        assert (refused.exit_code, "The agent triager is halted by" in refused.stderr) == (1, True)
        await asyncio.to_thread(triager, tmp_path, "resume", "triager")
        await world.system.host.drain()
    assert (await world.ticket(ticket)).status == "closed"


async def test_a_host_that_hangs_does_not_stop_the_halt(
    tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "FOLLOWS_WITHIN_S", 0.1)
    with socket.socket(socket.AF_UNIX) as hung:
        hung.bind(str(control.socket_path(tmp_path)))
        hung.listen()
        said = await asyncio.to_thread(triager, tmp_path, "halt", "--json")
        assert printed(said)["host"] == "does not answer"
    assert (await world.client.get("/ops/agents/brakes")).json()[0]["by"] == "the machine's owner"


async def test_only_those_who_may_operate_pull_the_lever(world: World) -> None:
    await halt(world)
    world.client.headers.pop("Authorization")
    for verb in ("halt", "resume"):
        assert (await world.client.post(f"/ops/agents/{verb}", json={})).status_code == 401
    assert (await world.client.get("/ops/agents/brakes")).status_code == 401
