"""A clock may be set, forwards and back. Nothing runs early or twice for it, and nothing is lost for as long as that.

Set forwards, what it leapt over is made up for by one run. Set back, a cron schedule goes on by the new clock, but for
a time that had its run just before; a delay waits for its own length at most; an instant stays the instant it was.
"""

from datetime import UTC, datetime, timedelta

import pytest

from tests.contract.agents import Asker, working
from tests.contract.host_under_test import HostUnderTest, next_runs
from tests.contract.test_host_alarms import Failing

pytestmark = pytest.mark.anyio
HOURLY = working(("0 * * * *", {}))


async def test_set_forwards_by_hours_there_is_one_run_to_make_up_for_them(host: HostUnderTest) -> None:
    await host.start(worker=HOURLY)
    assert await host.ring(hours=7, minutes=30) == 1
    assert await host.ring() == 0
    assert await host.call("worker", "main", "read") == [None]
    assert next_runs(host) == {"job": "2026-03-09T20:00:00.000Z"}


async def test_set_back_by_hours_an_hourly_job_goes_on_at_the_next_hour_of_the_new_clock(host: HostUnderTest) -> None:
    await host.start(worker=HOURLY)
    await host.ring(hours=1)
    await host.ring(minutes=59)
    await host.ring(hours=-4)
    assert await host.call("worker", "main", "read") == [None]
    assert next_runs(host) == {"job": "2026-03-09T10:00:00.000Z"}
    assert [await host.ring(seconds=seconds) for seconds in (59, 1, 3600)] == [0, 1, 1]
    assert await host.call("worker", "main", "read") == [None] * 3


@pytest.mark.parametrize("minutes", [1, 2, 30, 59])
async def test_set_back_over_a_run_that_run_is_not_made_again(host: HostUnderTest, minutes: int) -> None:
    await host.start(worker=HOURLY)
    await host.ring(hours=1)
    await host.ring(minutes=-minutes)
    await host.ring(minutes=minutes)
    assert await host.call("worker", "main", "read") == [None]
    await host.ring(hours=1)
    assert await host.call("worker", "main", "read") == [None, None]


async def test_set_back_past_a_daily_run_that_run_is_not_made_again_the_same_day(host: HostUnderTest) -> None:
    await host.start(worker=working(("0 13 * * *", {})))
    await host.ring(hours=1)
    await host.ring(hours=-5)
    await host.ring(hours=5)
    assert await host.call("worker", "main", "read") == [None]
    assert next_runs(host) == {"job": "2026-03-10T13:00:00.000Z"}


async def test_set_back_a_delay_waits_for_its_own_length_at_most_and_an_instant_for_its_instant(
    host: HostUnderTest,
) -> None:
    at = datetime(2026, 3, 9, 13, 0, tzinfo=UTC)
    jobs = ((timedelta(minutes=30), {"key": "delay", "payload": "delay"}), (at, {"key": "at", "payload": "at"}))
    await host.start(worker=working(*jobs))
    await host.ring(minutes=10)
    await host.ring(days=-1)
    assert next_runs(host) == {"jobdelay": "2026-03-08T12:40:00.000Z", "jobat": "2026-03-09T13:00:00.000Z"}
    await host.ring(minutes=30)
    assert await host.call("worker", "main", "read") == ["delay"]


async def test_set_back_every_sleeping_instance_finds_its_next_run_and_one_that_fails_its_next_try(
    host: HostUnderTest,
) -> None:
    await host.start(worker=HOURLY, failing=Failing)
    await host.call("worker", "night shift", "touch")
    await host.ring(hours=1)
    host.evict()
    await host.ring(days=-300)
    host.evict()
    await host.ring(hours=1)
    assert await host.call("worker", "night shift", "read") == [None, None]
    assert host.sql("failing", "main", "SELECT failures FROM schedules WHERE callback = 'broken'") == [{"failures": 2}]


async def test_a_clock_that_was_far_ahead_for_a_while_leaves_no_job_there(host: HostUnderTest) -> None:
    await host.start(worker=HOURLY)
    await host.ring(days=3000)
    await host.ring(days=-3000)
    assert next_runs(host) == {"job": "2026-03-09T13:00:00.000Z"}
    await host.ring(hours=1)
    assert await host.call("worker", "main", "read") == [None, None]


async def test_set_back_while_nobody_ran_a_restart_finds_the_next_run(host: HostUnderTest) -> None:
    await host.start(worker=HOURLY)
    host.clock.advance(days=-300)
    await host.start(worker=HOURLY)
    assert next_runs(host) == {"job": "2025-05-13T13:00:00.000Z"}


async def test_set_back_an_answer_whose_wake_was_lost_is_found_all_the_same(host: HostUnderTest) -> None:
    await host.start(asker=Asker)
    request = await host.call("asker", "main", "ask")
    await host.answer("asker", "main", request, wake=False)
    await host.ring()
    await host.ring(days=-2)
    assert await host.call("asker", "main", "read") == [[request, "approved", "ok"]]
