"""What an agent schedules runs at least once, never early; and what a deploy changes, it finds changed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.contract.agents import Worker, working
from tests.contract.host_under_test import HostUnderTest, next_runs

pytestmark = pytest.mark.anyio
HOURLY = working(("0 * * * *", {}))


async def runs(host: HostUnderTest) -> list[Any]:
    return list(await host.call("worker", "main", "read"))


async def test_a_job_runs_when_its_time_has_come_and_not_a_moment_earlier(host: HostUnderTest) -> None:
    await host.start(worker=HOURLY)
    assert await host.ring(minutes=59, seconds=59, milliseconds=999) == 0
    assert await runs(host) == []
    assert await host.ring(milliseconds=1) == 1
    assert await runs(host) == [None]


async def test_an_idle_instance_does_not_wake(host: HostUnderTest) -> None:
    await host.start(worker=HOURLY, idle=Worker)
    assert [await host.ring(minutes=1) for _ in range(10)] == [0] * 10
    assert await host.ring(hours=10, minutes=5) == 1


async def test_a_delay_and_an_instant_run_once(host: HostUnderTest) -> None:
    at = datetime(2026, 3, 9, 15, 0, tzinfo=UTC)
    jobs = ((timedelta(minutes=5), {"key": "delay", "payload": "delay"}), (at, {"key": "at", "payload": {"at": [3]}}))
    await host.start(worker=working(*jobs))
    await host.ring(minutes=5)
    assert await runs(host) == ["delay"]
    await host.ring(days=2)
    await host.ring(days=2)
    assert await runs(host) == ["delay", {"at": [3]}]
    assert next_runs(host) == {}


async def test_a_delay_beyond_a_year_is_kept_to_the_moment(host: HostUnderTest) -> None:
    agent = working((timedelta(days=1000), {"payload": "late"}))
    await host.start(worker=agent)
    for _ in range(3):
        host.clock.advance(days=333)
        await host.start(worker=agent)
    assert await host.ring(hours=23, minutes=59, seconds=59.999) == 0
    await host.ring(milliseconds=1)
    assert await runs(host) == ["late"]


async def test_waking_by_call_alarm_eviction_or_restart_keeps_one_row_and_its_time(host: HostUnderTest) -> None:
    agent = working(("0 * * * *", {}), (timedelta(hours=2), {"key": "delay"}))
    await host.start(worker=agent)
    for turn in range(20):
        if turn % 5 == 0:
            await host.start(worker=agent)
        await host.call("worker", "main", "touch")
        await host.ring(minutes=1)
        host.evict()
    assert next_runs(host) == {"job": "2026-03-09T13:00:00.000Z", "jobdelay": "2026-03-09T14:00:00.000Z"}


async def test_after_hours_of_downtime_it_arms_itself_and_makes_up_once_for_each(host: HostUnderTest) -> None:
    delays = [(timedelta(hours=hours), {"key": f"{hours}", "payload": hours}) for hours in (1, 3)]
    agent = working(("0 * * * *", {"payload": "hourly"}), *delays)
    await host.start(worker=agent)
    host.clock.advance(hours=5, minutes=10)
    await host.start(worker=agent)
    assert sorted(map(str, await runs(host))) == ["1", "3", "hourly"]
    # on_start registers the delays anew, as it found them done; the hourly job goes on at the hour
    assert next_runs(host)["job"] == "2026-03-09T18:00:00.000Z"


NOON_TOMORROW, NIGHT = datetime(2026, 3, 10, 12, 0, tzinfo=UTC), datetime(2026, 3, 9, 22, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("0 * * * *", {}), ("*/30 * * * *", {}), "2026-03-09T12:30:00.000Z"),
        (("0 9 * * *", {}), ("0 9 * * *", {"zone": "Europe/Berlin"}), "2026-03-10T08:00:00.000Z"),
        ((NOON_TOMORROW, {}), (NIGHT, {}), "2026-03-09T22:00:00.000Z"),
        ((timedelta(hours=1), {}), (timedelta(minutes=1), {}), "2026-03-09T12:01:00.000Z"),
        (("0 * * * *", {}), (NIGHT, {}), "2026-03-09T22:00:00.000Z"),
    ],
)
async def test_registering_another_time_replaces(host: HostUnderTest, first: Any, second: Any, expected: str) -> None:
    await host.start(worker=working(first))
    await host.start(worker=working(second))
    assert next_runs(host) == {"job": expected}


async def test_registering_another_payload_replaces(host: HostUnderTest) -> None:
    await host.start(worker=working(("0 * * * *", {"payload": "old"})))
    await host.start(worker=working(("0 * * * *", {"payload": "new"})))
    await host.ring(hours=1)
    assert await runs(host) == ["new"]


async def test_each_key_is_a_schedule_of_its_own(host: HostUnderTest) -> None:
    await host.start(worker=working(*(("0 * * * *", {"key": key, "payload": key}) for key in "ab")))
    await host.ring(hours=1)
    assert sorted(await runs(host)) == ["a", "b"]


class Refused(Worker):
    rpc = ("try_it",)
    when: Any = None
    zone = "UTC"

    async def try_it(self) -> None:
        await self.schedule(self.when, self.job, zone=self.zone)


NEVER = [
    *("0 0 31 2 *", "0 0 * * * *", "60 * * * *", "", "@hourly"),
    *(datetime(2026, 3, 9), timedelta(days=5_000_000)),  # noqa: DTZ001 (that is the point)
]


@pytest.mark.parametrize("when", NEVER)
async def test_a_time_that_never_comes_is_refused_and_nothing_is_scheduled(host: HostUnderTest, when: Any) -> None:
    await host.start(worker=type("Never", (Refused,), {"when": when}))
    with pytest.raises(ValueError, match=r"Nothing was scheduled|time zone"):
        await host.call("worker", "main", "try_it")
    assert next_runs(host) == {}


@pytest.mark.parametrize("zone", ["Europe/Nowhere", "", "../UTC", "Europe", "a\0b"])
async def test_a_zone_that_is_none_is_refused_and_nothing_is_scheduled(host: HostUnderTest, zone: str) -> None:
    await host.start(worker=type("Nowhere", (Refused,), {"when": "0 * * * *", "zone": zone}))
    with pytest.raises(ValueError, match="is no IANA time zone"):
        await host.call("worker", "main", "try_it")
    assert next_runs(host) == {}


class Chain(Worker):
    """Each run sets the next one."""

    jobs = ((timedelta(seconds=10), {}),)

    async def job(self, payload: Any = None) -> None:
        await super().job(payload)
        await self.schedule(timedelta(seconds=10), self.job)


async def test_a_job_may_set_its_own_next_run(host: HostUnderTest) -> None:
    await host.start(worker=Chain)
    assert [await host.ring(seconds=seconds) for seconds in (10, 9, 1, 10)] == [1, 0, 1, 1]
    assert await runs(host) == [None, None, None]


class Renamed(Worker):
    """The next deploy: `job` is called `work` now."""

    job = None  # type: ignore[assignment]

    async def on_start(self) -> None:
        await self.schedule("30 * * * *", self.work)

    async def work(self) -> None:
        self.saw("work")


async def test_a_renamed_callback_is_named_in_the_log_and_set_aside_and_its_instance_works_on(
    host: HostUnderTest,
) -> None:
    await host.start(worker=HOURLY)
    with capture_logs() as logs:
        await host.start(worker=Renamed)
        for _ in range(6):
            await host.ring(minutes=30)
    assert await runs(host) == ["work"] * 3
    reported = [line for line in logs if line["event"] == "schedule_set_aside"]
    assert [(line["callback"], line["instance"]) for line in reported] == [("job", "main")]
    assert [line for line in logs if line["log_level"] == "error"] == []


async def test_what_was_set_aside_runs_again_once_its_method_is_back(host: HostUnderTest) -> None:
    await host.start(worker=HOURLY)
    await host.start(worker=Renamed)
    await host.ring(hours=3, minutes=10)
    await host.start(worker=HOURLY)
    assert await runs(host) == ["work", None]  # one run makes up for the missed ones
    assert next_runs(host)["job"] == "2026-03-09T16:00:00.000Z"


class OnlyWhenAsked(Worker):
    rpc = ("read", "touch", "register")

    async def register(self) -> None:
        await self.schedule(timedelta(minutes=1), self.job, payload="asked for")


async def test_an_instance_that_nobody_calls_finds_within_an_hour_that_a_method_is_back(host: HostUnderTest) -> None:
    await host.start(worker=OnlyWhenAsked)
    await host.call("worker", "asleep", "register")
    await host.start(worker=type("WithoutTheJob", (OnlyWhenAsked,), {"job": None}))
    for _ in range(3):
        await host.ring(hours=1)
    await host.start(worker=OnlyWhenAsked)
    await host.ring(hours=1)
    assert await host.call("worker", "asleep", "read") == ["asked for"]
