"""The embedded host: alarms that survive a restart, and failures that stay where they happen."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec import Struct

from app.runtime.durable.agent import Agent
from app.runtime.durable.alarms import Alarms, Due
from app.runtime.instants import to_text
from db.engine import Database
from tests.support_host import a_host, run_due
from tests.world import Clock

pytestmark = pytest.mark.anyio


class Nothing(Struct, frozen=True):
    pass


class Hourly(Agent[Nothing]):
    """Counts the runs of all its instances."""

    state_type = Nothing
    rpc = ("touch",)
    runs: ClassVar[list[str]] = []

    async def on_start(self) -> None:
        await self.schedule("0 * * * *", self.job)

    async def job(self) -> None:
        self.runs.append(self.name)

    async def touch(self) -> None:
        pass


class Broken(Agent[Nothing]):
    state_type = Nothing

    async def on_start(self) -> None:
        raise RuntimeError("cannot start")


@pytest.fixture
def clock(now: datetime) -> Clock:
    Hourly.runs.clear()
    return Clock(now)


@pytest.fixture
def alarms(tmp_path: Path) -> Iterator[Alarms]:
    alarms = Alarms(tmp_path / "alarms.sqlite")
    yield alarms
    alarms.close()


async def test_an_instance_that_nobody_calls_wakes_by_its_alarm_after_a_restart(
    tmp_path: Path, database: Database, clock: Clock
) -> None:
    host = a_host(tmp_path, database, clock, hourly=Hourly)
    await host.get("hourly", "night shift").call("touch")
    host.close()
    host = a_host(tmp_path, database, clock, hourly=Hourly)
    await run_due(host, clock, hours=1)
    assert Hourly.runs == ["night shift"]
    host.close()


async def test_an_agent_that_cannot_start_backs_off_and_stops_no_other(
    tmp_path: Path, database: Database, clock: Clock
) -> None:
    host = a_host(tmp_path, database, clock, broken=Broken, hourly=Hourly)
    await host.start()
    assert await host.run_due(clock.at) == 2
    assert [await run_due(host, clock, seconds=wait) for wait in (1, 1, 3, 1)] == [0, 1, 0, 1]
    await run_due(host, clock, hours=1)
    assert Hourly.runs == ["main"]
    host.close()


async def test_an_agent_that_left_the_registry_stops_no_other(tmp_path: Path, database: Database, clock: Clock) -> None:
    host = a_host(tmp_path, database, clock, retired=Hourly, hourly=Hourly)
    for agent in ("retired", "hourly"):
        await host.get(agent, agent).call("touch")
    host.close()
    host = a_host(tmp_path, database, clock, hourly=Hourly)
    await run_due(host, clock, hours=1)
    assert Hourly.runs == ["hourly"]
    host.close()


async def test_a_wake_for_somebody_who_is_no_agent_here_is_ignored(
    tmp_path: Path, database: Database, clock: Clock
) -> None:
    host = a_host(tmp_path, database, clock, hourly=Hourly)
    host.wake([("operator:1", "a"), ("token:x", "b"), ("agent:stranger:main", "c"), ("agent:hourly:main", "unknown")])
    await host.drain()
    host.close()


async def test_run_starts_rings_and_stops_when_told(tmp_path: Path, database: Database, clock: Clock) -> None:
    host, stop = a_host(tmp_path, database, clock, hourly=Hourly), asyncio.Event()
    running = asyncio.create_task(host.run(stop))
    await host.get("hourly", "main").call("touch")
    clock.advance(hours=1)
    await host.get("hourly", "main").call("touch")  # its alarm is set again, so the host looks at the clock
    async with asyncio.timeout(10):
        while not Hourly.runs:  # noqa: ASYNC110 (each round lets the host take one step)
            await asyncio.sleep(0)
        stop.set()
        await running
    assert Hourly.runs == ["main"]
    host.close()


def test_an_earlier_alarm_wins_and_a_later_one_changes_nothing(alarms: Alarms) -> None:
    for at in ("2026-03-09T13:00:00.000Z", "2026-03-09T12:30:00.000Z", "2026-03-09T14:00:00.000Z"):
        alarms.arm("triager", "main", at)
    assert alarms.next_at() == "2026-03-09T12:30:00.000Z"
    alarms.set("triager", "main", None)
    assert alarms.next_at() is None
    alarms.arm("triager", "main", "2026-03-09T14:00:00.000Z")
    assert alarms.next_at() == "2026-03-09T14:00:00.000Z"


def test_an_alarm_that_keeps_failing_waits_up_to_an_hour_and_forgets_once_it_went_well(alarms: Alarms) -> None:
    now = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
    alarms.arm("triager", "main", to_text(now))
    waits = []
    for _ in range(13):
        [due] = alarms.due(now)
        alarms.failed(due, now)
        at = datetime.fromisoformat(alarms.next_at() or "")
        waits.append((at - now).total_seconds())
        assert alarms.due(at - timedelta(milliseconds=1)) == []
        now = at
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600]
    alarms.set("triager", "main", to_text(now))
    assert alarms.due(now) == [Due("triager", "main", failures=0)]
