"""Another APP_KEY, and ciphertext that was moved: what no key opens is set aside, untouched; all else goes on."""

import asyncio
import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.main import build
from app.runtime.durable.lock import HostLock
from app.runtime.durable.storage import file_of
from config.settings import SettingMissing, Settings
from tests.support import a_ticket
from tests.support_cli import in_a_world, triager
from tests.support_host import private
from tests.support_ledger import ledger_rows, parked_closes, settled
from tests.world import KEY as K1
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

K2 = base64.b64encode(b"2" * 32).decode()


def sealed(world: World) -> dict[str, str]:
    return {row["request_id"]: row["arguments"] for row in ledger_rows(world)}


async def three_answers_under_k1(folder: Path, migrated: Path) -> tuple[list[int], list[str], dict[str, str]]:
    """Three calls parked under K1, each approved, none carried out. Their tickets, their requests, their rows."""
    async with a_world(folder, migrated, app_key=K1) as world:
        tickets, requests = await parked_closes(world, 3)
        for request in requests:
            await world.approve(request, wake=False)
        return tickets, requests, sealed(world)


async def statuses(world: World, tickets: list[int]) -> list[str]:
    return [(await world.ticket(ticket)).status for ticket in tickets]


async def test_with_the_old_key_as_a_previous_one_all_settle_and_new_rows_are_under_the_new(
    tmp_path: Path, migrated: Path
) -> None:
    tickets, requests, rows = await three_answers_under_k1(tmp_path, migrated)
    async with a_world(tmp_path, migrated, app_key=K2, previous_keys=(K1,)) as world:
        assert await statuses(world, tickets) == ["closed"] * 3
        assert await settled(world) == [(request, "approved", "ok") for request in requests]
        await parked_closes(world, 1)
        [row] = sealed(world).values()
        assert key_of(row) not in {key_of(each) for each in rows.values()}


def key_of(sealed: str) -> str:
    return sealed.partition(".")[0]


async def test_without_the_old_key_its_rows_are_set_aside_and_all_else_goes_on(tmp_path: Path, migrated: Path) -> None:
    tickets, requests, rows = await three_answers_under_k1(tmp_path, migrated)
    with capture_logs() as logs:
        async with a_world(tmp_path, migrated, app_key=K2) as world:
            assert sealed(world) == rows
            assert await statuses(world, tickets) == ["open"] * 3
            report = await world.report()
            assert (report["declined"], report["settled"]) == ({}, [])
            new = await world.system.db.write(a_ticket)
            await world.sweep()
            [request] = await world.pending()
            await world.approve(request)
            assert await settled(world) == [(request, "approved", "ok")]
            assert await statuses(world, [*tickets, new]) == ["open"] * 3 + ["closed"]
            assert sealed(world) == rows
    told = [line for line in logs if line["event"] == "delivery_failed"]
    assert {line["request_id"] for line in told} == set(requests)
    assert all("no key given opens it" in line["why"] and line["log_level"] == "error" for line in told)


async def test_without_any_key_nothing_starts_and_nothing_is_stored_in_plain_text(tmp_path: Path) -> None:
    with pytest.raises(SettingMissing, match=r"could not be sealed\. Nothing was done\. Add the line"):
        build(Settings(data_dir=tmp_path))


async def test_once_the_old_key_is_back_everything_is_carried_out(tmp_path: Path, migrated: Path) -> None:
    tickets, requests, _ = await three_answers_under_k1(tmp_path, migrated)
    for _ in range(3):
        async with a_world(tmp_path, migrated, app_key=K2) as world:
            await world.run_due(seconds=1)
    async with a_world(tmp_path, migrated, app_key=K1) as world:
        assert await statuses(world, tickets) == ["closed"] * 3
        assert sorted(await settled(world)) == sorted((request, "approved", "ok") for request in requests)
        assert ledger_rows(world) == []


async def test_arguments_swapped_between_two_rows_open_in_neither(tmp_path: Path, migrated: Path) -> None:
    tickets, requests, rows = await three_answers_under_k1(tmp_path, migrated)
    first, second, _ = requests
    async with idle_world(tmp_path, migrated) as world:
        for request, other in ((first, second), (second, first)):
            change = "UPDATE ledger SET arguments = ? WHERE request_id = ?"
            private(world.system.host, "triager", "main", change, rows[other], request)
    with capture_logs() as logs:
        async with a_world(tmp_path, migrated) as world:
            assert await statuses(world, tickets) == ["open", "open", "closed"]
            assert list(sealed(world)) == [first, second]
    assert {line["request_id"] for line in logs if line["event"] == "delivery_failed"} == {first, second}


def idle_world(folder: Path, migrated: Path) -> Any:
    """One that cannot open a row, so that nothing is carried out while a test looks inside."""
    return a_world(folder, migrated, app_key=K2)


async def test_a_ledger_copied_over_anothers_opens_nothing_there(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket = await world.system.db.write(a_ticket)
        for instance in ("eu", "us"):
            await world.system.host.get("triager", instance).call("sweep")
        requests = await world.pending()
        for request in requests:
            await world.approve(request, wake=False)
        assert {(await world.approval(request)).principal_key for request in requests} == {
            "agent:triager:eu",
            "agent:triager:us",
        }
    agents = tmp_path / "agents"
    eu, us = (agents / file_of("triager", name) for name in ("eu", "us"))
    shutil.copy(eu, us)
    eu.unlink()
    with capture_logs() as logs:
        async with a_world(tmp_path, migrated) as world:
            await world.run_due(hours=1)
            assert (await world.ticket(ticket)).status == "open"
            eus = private(world.system.host, "triager", "us", "SELECT request_id FROM ledger")
    assert {line["request_id"] for line in logs if line["event"] == "delivery_failed"} == {
        row["request_id"] for row in eus
    }


# triager key rotate


def rotated(folder: Path, **environ: str) -> tuple[int, Any]:
    done = triager(folder, "key", "rotate", "--json", **environ)
    return done.exit_code, json.loads(done.stdout)


def test_rotation_seals_every_row_anew_once_and_the_old_key_may_go(tmp_path: Path, migrated: Path) -> None:
    async def ask(world: World) -> None:
        await world.system.db.write(a_ticket)
        for instance in ("main", "eu", "Ä/..#?"):
            await world.system.host.get("triager", instance).call("sweep")

    async def carry_out(world: World) -> list[str | None]:
        requests = await world.pending()
        for request in requests:
            await world.approve(request)
        return [(await world.approval(request)).ended for request in requests]

    in_a_world(tmp_path, migrated, ask, app_key=K1)
    keys = {"APP_KEY": K2, "APP_PREVIOUS_KEYS": K1}
    assert rotated(tmp_path, **keys) == (0, {"resealed": 3, "current": 0, "unreadable": {}})
    assert rotated(tmp_path, **keys) == (0, {"resealed": 0, "current": 3, "unreadable": {}})
    assert sorted(in_a_world(tmp_path, migrated, carry_out, app_key=K2)) == ["cancelled", "cancelled", "used"]


def test_what_no_key_opens_is_named_by_instance_and_left_as_it_is(tmp_path: Path, migrated: Path) -> None:
    _, requests, rows = asyncio.run(three_answers_under_k1(tmp_path, migrated))
    for _ in range(2):
        code, told = rotated(tmp_path, APP_KEY=K2)
        assert (code, told) == (1, {"resealed": 0, "current": 0, "unreadable": {"triager/main": requests}})
    said = triager(tmp_path, "key", "rotate", APP_KEY=K2)
    assert "triager/main: no key opens" in said.stderr

    async def look(world: World) -> dict[str, str]:
        return sealed(world)

    assert in_a_world(tmp_path, migrated, look, app_key=K2) == rows


def test_a_ledger_whose_instance_is_in_no_index_is_told_of(tmp_path: Path, migrated: Path) -> None:
    async def park(world: World) -> None:
        await parked_closes(world, 1)

    in_a_world(tmp_path, migrated, park, app_key=K1)
    agents = tmp_path / "agents"
    lost = agents / file_of("retired", "main")
    lost.parent.mkdir(exist_ok=True)
    shutil.copy(agents / file_of("triager", "main"), lost)
    code, told = rotated(tmp_path, APP_KEY=K1)
    assert (code, told["current"]) == (1, 1)
    assert told["unreadable"] == {file_of("retired", "main"): ["every row"]}


def test_rotation_is_refused_beside_a_running_host_and_without_a_key(tmp_path: Path) -> None:
    assert "APP_KEY is not set. Nothing was sealed" in triager(tmp_path, "key", "rotate", APP_KEY="").stderr
    lock = HostLock(tmp_path / "host.lock")
    lock.take()
    refused = triager(tmp_path, "key", "rotate", APP_KEY=K1)
    lock.release()
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "runs the agents here. Nothing was sealed. Stop it first." in refused.stderr
    empty = rotated(tmp_path, APP_KEY=K1)
    assert empty == (0, {"resealed": 0, "current": 0, "unreadable": {}})


def test_the_key_command_alone_still_prints_a_fresh_one(tmp_path: Path) -> None:
    first, second = (triager(tmp_path, "key").stdout for _ in range(2))
    assert first.startswith("APP_KEY=")
    assert first != second
    assert len(base64.b64decode(first.strip().removeprefix("APP_KEY="))) == 32
