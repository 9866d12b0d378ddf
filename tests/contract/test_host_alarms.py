"""Alarms: what fails is tried again, more and more seldom, and holds up nobody. What comes late comes once."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.runtime.instants import to_text
from tests.contract.agents import Asker, Worker, working
from tests.contract.host_under_test import HostUnderTest, next_runs

pytestmark = pytest.mark.anyio
HOURLY = working(("0 * * * *", {}))


class Failing(Worker):
    """Its first job throws until it is mended."""

    jobs = (("0 * * * *", {}),)
    mended = False

    async def on_start(self) -> None:
        await self.schedule("*/5 * * * *", self.broken)
        await super().on_start()

    async def broken(self) -> None:
        if not self.mended:
            raise RuntimeError("broken")
        self.saw("mended")


async def test_a_failing_job_backs_off_to_an_hour_stops_no_other_and_is_visible(host: HostUnderTest) -> None:
    agent = type("StillFailing", (Failing,), {})
    await host.start(worker=agent, other=HOURLY)
    await host.ring(minutes=5)
    waits = []
    with capture_logs() as logs:
        for _ in range(14):
            at = datetime.fromisoformat(next_runs(host)["broken"])
            waits.append((at - host.clock.at).total_seconds())
            await host.ring(seconds=waits[-1] * 0.8)  # perhaps for the other job
            assert next_runs(host)["broken"] == to_text(at)
            await host.ring(seconds=waits[-1] * 0.2)
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600, 3600]
    assert [line["callback"] for line in logs if line["event"] == "schedule_failed"] == ["broken"] * 14
    assert host.sql("worker", "main", "SELECT failures FROM schedules WHERE callback = 'broken'") == [{"failures": 15}]
    hours = len(await host.call("other", "main", "read"))
    assert hours == 4
    assert await host.call("worker", "main", "read") == [None] * hours
    agent.mended = True
    await host.ring(hours=1)
    assert "mended" in await host.call("worker", "main", "read")
    assert host.sql("worker", "main", "SELECT sum(failures) AS failures FROM schedules") == [{"failures": 0}]


class Unable(Worker):
    async def on_start(self) -> None:
        raise RuntimeError("cannot start")


async def test_an_agent_that_cannot_start_backs_off_and_stops_no_other(host: HostUnderTest) -> None:
    await host.start(unable=Unable, worker=HOURLY)
    assert [await host.ring(seconds=wait) for wait in (1, 1, 3, 1)] == [0, 1, 0, 1]
    await host.ring(hours=1)
    assert await host.call("worker", "main", "read") == [None]


async def test_an_instance_that_nobody_calls_wakes_by_its_alarm_after_a_restart(host: HostUnderTest) -> None:
    await host.start(worker=HOURLY)
    await host.call("worker", "night shift", "touch")
    await host.start(worker=HOURLY)
    await host.ring(hours=1)
    assert await host.call("worker", "night shift", "read") == [None]


async def test_an_agent_that_left_the_registry_stops_no_other_and_goes_on_when_it_is_back(host: HostUnderTest) -> None:
    await host.start(retired=HOURLY, worker=HOURLY)
    await host.start(worker=HOURLY)
    await host.ring(hours=1)
    assert await host.call("worker", "main", "read") == [None]
    await host.start(retired=HOURLY, worker=HOURLY)
    assert await host.call("retired", "main", "read") == [None]


class Slow(Worker):
    """Works for as long as its clock is moved on by: `lasts`."""

    jobs = (("*/10 * * * *", {}),)
    lasts = timedelta(minutes=25)
    clock: Any = None
    under_way = at_once = 0

    async def job(self, payload: Any = None) -> None:
        cls = type(self)
        cls.under_way += 1
        cls.at_once = max(cls.at_once, cls.under_way)
        self.clock.at += self.lasts
        await asyncio.sleep(0)
        self.saw(self.now().strftime("%H:%M"))
        cls.under_way -= 1


async def test_a_turn_that_takes_longer_than_its_period_does_not_overlap_itself(host: HostUnderTest) -> None:
    agent = type("Slowly", (Slow,), {"clock": host.clock})
    await host.start(worker=agent)
    host.clock.advance(minutes=10)
    assert sorted(await asyncio.gather(*(host.ring() for _ in range(3)))) == [0, 0, 1]
    assert await host.call("worker", "main", "read") == ["12:35"]
    assert next_runs(host) == {"job": "2026-03-09T12:40:00.000Z"}  # the two it missed are made up for by this one
    await host.ring(minutes=5)
    assert await host.call("worker", "main", "read") == ["12:35", "13:05"]
    assert agent.at_once == 1


class Stuck(Worker):
    """Its first run never ends."""

    jobs = (("0 * * * *", {}), (timedelta(minutes=5), {"key": "delay", "payload": "delay"}))
    tries = 0

    async def job(self, payload: Any = None) -> None:
        type(self).tries += 1
        self.saw(f"begun {payload}")
        if self.tries == 1:
            await asyncio.Event().wait()


async def test_a_turn_that_was_broken_off_is_made_again_and_so_are_those_it_kept_waiting(host: HostUnderTest) -> None:
    agent = type("StuckOnce", (Stuck,), {})
    await host.start(worker=agent)
    host.clock.advance(hours=1)
    ringing = asyncio.create_task(host.ring())
    while not agent.tries:  # noqa: ASYNC110 (each round lets the turn take one step)
        await asyncio.sleep(0)
    await host.kill()
    await asyncio.gather(ringing, return_exceptions=True)
    await host.start(worker=agent)
    assert await host.call("worker", "main", "read") == ["begun delay", "begun delay", "begun None"]


async def test_a_wake_delivers_the_one_request_it_names_and_a_lost_one_is_found_by_the_alarm(
    host: HostUnderTest,
) -> None:
    await host.start(asker=Asker)
    first, second, third = [await host.call("asker", "main", "ask") for _ in range(3)]
    await host.answer("asker", "main", second)
    assert await host.call("asker", "main", "read") == [[second, "approved", "ok"]]
    await host.answer("asker", "main", first, wake=False)
    assert await host.call("asker", "main", "read") == [[second, "approved", "ok"]]
    await host.ring(seconds=30)
    assert [one[0] for one in await host.call("asker", "main", "read")] == [second, first]
    assert host.sql("asker", "main", "SELECT request_id FROM ledger") == [{"request_id": third}]


async def test_a_start_delivers_what_was_answered_while_nobody_ran(host: HostUnderTest) -> None:
    await host.start(asker=Asker)
    request = await host.call("asker", "other", "ask")
    await host.answer("asker", "other", request, wake=False)
    await host.start(asker=Asker)
    assert await host.call("asker", "other", "read") == [[request, "approved", "ok"]]


async def test_a_wake_finds_an_instance_that_is_not_in_memory(host: HostUnderTest) -> None:
    await host.start(asker=Asker)
    request = await host.call("asker", "main", "ask")
    host.evict()
    await host.answer("asker", "main", request)
    assert await host.call("asker", "main", "read") == [[request, "approved", "ok"]]
