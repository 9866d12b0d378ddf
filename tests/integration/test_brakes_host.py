"""What a host does for a halted agent: nothing. Its alarms stand, answers wait, time runs on; then all is made up."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.runtime.durable.host_embedded import LOOK_MAX_S
from app.runtime.errors import Halted
from app.runtime.instants import after
from tests.support import a_ticket
from tests.support_brakes import brake, halt, release, resume
from tests.support_host import private
from tests.support_ledger import a_parked_close, ledger_rows, settled
from tests.world import World, a_world, awake

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


def sweeps(world: World) -> int:
    return len(private(world.system.host, "triager", "main", "SELECT id FROM runs"))


async def status(world: World, ticket: int) -> str:
    return (await world.ticket(ticket)).status


@pytest.mark.parametrize("agent", [None, "triager"])
async def test_its_schedules_stand_and_one_run_makes_up_for_them(world: World, agent: str | None) -> None:
    await halt(world, agent)
    assert [await world.run_due(hours=1) for _ in range(3)] == [0, 0, 0]
    assert sweeps(world) == 0
    await resume(world, agent)
    assert [await world.run_due(), await world.run_due(minutes=59), await world.run_due(minutes=1)] == [1, 0, 1]
    assert sweeps(world) == 2


async def test_other_agents_ring_however_many_alarms_of_halted_ones_are_overdue(world: World) -> None:
    alarms = world.system.host._alarms
    for number in range(150):
        alarms.set("retired", f"{number}", after(world.clock.at, -60))
    await brake(world, "retired")
    assert await world.run_due(hours=1) == 1
    assert sweeps(world) == 1


async def test_an_overdue_alarm_that_stands_neither_keeps_the_host_busy_nor_counts_as_late(world: World) -> None:
    host, stop = world.system.host, asyncio.Event()
    running = asyncio.create_task(host.run(stop))
    await asyncio.sleep(0)
    await halt(world)
    world.clock.advance(hours=2)
    assert (host.lag_s(), host._pause_s()) == (0.0, LOOK_MAX_S)
    await brake(world, "triager")
    await resume(world)
    assert host.lag_s() == 0.0, "the halt of the agent itself holds on"
    await release(world)
    await host.follow_brakes()
    assert host.lag_s() == 3600.0
    stop.set()
    await running


async def test_an_answer_from_before_is_carried_out_once_after(world: World) -> None:
    ticket, request = await a_parked_close(world)
    await world.approve(request, wake=False)
    await halt(world)
    world.system.host.wake([("agent:triager:main", request)])
    await world.system.host.drain()
    await world.run_due(hours=2)
    assert (await status(world, ticket), len(ledger_rows(world))) == ("open", 1)
    await resume(world)
    assert await status(world, ticket) == "closed"
    await world.run_due(hours=1)
    assert await settled(world) == [(request, "approved", "ok")]
    assert (await world.events(f"ticket:{ticket}")).count("closed") == 1


async def test_the_time_to_answer_runs_on_and_the_agent_hears_of_its_end_afterwards(world: World) -> None:
    _, request = await a_parked_close(world)
    await halt(world)
    await world.run_due(hours=73)
    assert await world.pending() == await settled(world) == []
    assert (await world.approval(request)).ended is None, "nothing is cancelled, nothing is settled"
    await resume(world)
    await world.run_due()
    await world.run_due(hours=1)
    assert await settled(world) == [(request, "expired", None)]


async def test_a_yes_whose_time_to_be_used_ends_in_a_halt_expires(world: World) -> None:
    ticket, request = await a_parked_close(world)
    await world.approve(request, wake=False)
    await halt(world)
    await world.run_due(hours=25)
    await resume(world)
    await world.run_due()
    assert (await status(world, ticket), await settled(world)) == ("open", [(request, "expired", None)])


async def test_a_process_that_dies_while_halted_starts_halted(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await world.approve(request, wake=False)
        await brake(world)
    async with a_world(tmp_path, migrated) as world:
        await world.run_due(hours=2)
        assert (await status(world, ticket), sweeps(world)) == ("open", 1)
        await release(world)
        await world.run_due()  # nobody nudged it: its next look finds that it may go on
        assert await status(world, ticket) == "closed"
        assert await settled(world) == [(request, "approved", "ok")]


async def test_a_sweep_is_refused_and_a_report_is_not(world: World) -> None:
    await brake(world)
    with pytest.raises(Halted, match=r"Every agent is halted by Ops On-Call since .*Z \(a leak\)\. Nothing was exec"):
        await world.sweep()
    assert (await world.report())["parked"] == []
    with pytest.raises(Halted, match="To let it go on: triager resume"):
        await world.system.host.ring("triager", "main")
    assert sweeps(world) == 0


async def test_of_several_jobs_that_are_due_none_begins_after_a_halt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = awake(world.system.host, "triager", "main")._agent

    async def halt_all(_: str) -> None:
        await halt(world)

    monkeypatch.setattr(agent, "halt_all", halt_all, raising=False)
    for key in ("a", "b"):
        agent._context.schedules.put("halt_all", world.clock.at, world.clock.at, zone="UTC", key=key, payload="")
    await awake(world.system.host, "triager", "main").pause("sweep", "", "not now", "Ana")  # a turn sets its alarm
    await world.run_due()
    jobs = private(world.system.host, "triager", "main", "SELECT key FROM schedules WHERE callback = 'halt_all'")
    assert jobs == [{"key": "b"}]
    await resume(world)
    await world.run_due()
    assert private(world.system.host, "triager", "main", "SELECT 1 FROM schedules WHERE callback = 'halt_all'") == []


async def test_where_the_brakes_cannot_be_read_the_last_ones_hold(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken() -> None:
        raise OSError("the disk is gone")

    await world.system.db.write(a_ticket)
    await halt(world)
    monkeypatch.setattr(world.system.host._parts.store, "brakes", broken)
    assert await world.run_due(hours=1) == 0
    assert sweeps(world) == 0
