"""The embedded host: its loop, its alarm index, its files. What every host promises is in tests/contract/."""

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
from tests.contract.test_host_turns import NAMES
from tests.support_host import a_host, files
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


@pytest.fixture
def clock(now: datetime) -> Clock:
    Hourly.runs.clear()
    return Clock(now)


@pytest.fixture
def alarms(tmp_path: Path) -> Iterator[Alarms]:
    alarms = Alarms(tmp_path / "alarms.sqlite")
    yield alarms
    alarms.close()


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


async def test_any_name_is_one_file_inside_the_folder(tmp_path: Path, database: Database, clock: Clock) -> None:
    outside = files(tmp_path)
    host = a_host(tmp_path, database, clock, hourly=Hourly)
    for name in NAMES:
        await host.get("hourly", name).call("touch")
    host.close()
    index = {tmp_path / "agents" / "alarms.sqlite"}
    assert len(files(tmp_path / "agents") - index) == len(NAMES)
    assert files(tmp_path) - files(tmp_path / "agents") == outside


async def test_a_name_that_no_file_system_holds_is_refused_before_a_file_exists(
    tmp_path: Path, database: Database, clock: Clock
) -> None:
    host = a_host(tmp_path, database, clock, hourly=Hourly)
    with pytest.raises(UnicodeEncodeError):
        await host.get("hourly", "half a pair \ud800").call("touch")
    assert files(tmp_path / "agents") == set()
    host.close()


def test_an_earlier_alarm_wins_and_a_later_one_changes_nothing(alarms: Alarms) -> None:
    for at in ("2026-03-09T13:00:00.000Z", "2026-03-09T12:30:00.000Z", "2026-03-09T14:00:00.000Z"):
        alarms.arm("triager", "main", at)
    assert alarms.next_at(set()) == "2026-03-09T12:30:00.000Z"
    alarms.set("triager", "main", None)
    assert alarms.next_at(set()) is None
    alarms.arm("triager", "main", "2026-03-09T14:00:00.000Z")
    assert alarms.next_at(set()) == "2026-03-09T14:00:00.000Z"


def test_an_alarm_that_keeps_failing_waits_up_to_an_hour_and_forgets_once_it_went_well(alarms: Alarms) -> None:
    now = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
    alarms.arm("triager", "main", to_text(now))
    waits = []
    for _ in range(13):
        [due] = alarms.due(now)
        alarms.failed(due, now)
        at = datetime.fromisoformat(alarms.next_at(set()) or "")
        waits.append((at - now).total_seconds())
        assert alarms.due(at - timedelta(milliseconds=1)) == []
        now = at
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600]
    alarms.set("triager", "main", to_text(now))
    assert alarms.due(now) == [Due("triager", "main", failures=0)]
