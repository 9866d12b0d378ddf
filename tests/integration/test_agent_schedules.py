"""What an agent schedules runs at least once, never early, and stops nothing else when it fails."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from app.runtime.durable.agent import Agent
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.instants import to_text
from db.engine import Database
from tests.support_host import House, next_run_of, private
from tests.world import awake

pytestmark = pytest.mark.anyio


class Seen(Struct, frozen=True):
    runs: tuple[Any, ...] = ()


class Worker(Agent[Seen]):
    """Registers `jobs` at every start. What it is told, it remembers."""

    state_type = Seen
    rpc = ("read",)
    jobs: tuple[tuple[Any, dict[str, Any]], ...] = ()

    async def on_start(self) -> None:
        for when, options in self.jobs:
            await self.schedule(when, self.job, **options)

    async def job(self, payload: Any = None) -> None:
        self.set_state(Seen((*self.state.runs, payload)))

    async def read(self) -> list[Any]:
        return list(self.state.runs)


def working(*jobs: tuple[Any, dict[str, Any]]) -> type[Worker]:
    return type("Working", (Worker,), {"jobs": jobs})


@pytest.fixture
def house(tmp_path: Path, database: Database, now: datetime) -> Iterator[House]:
    house = House(tmp_path, database, now)
    yield house
    house.close()


async def test_a_job_runs_when_its_time_has_come_and_not_a_moment_earlier(house: House) -> None:
    await house.start(worker=working(("0 * * * *", {})))
    assert await house.run_due(minutes=59, seconds=59, milliseconds=999) == 0
    assert await house.runs() == []
    assert await house.run_due(milliseconds=1) == 1
    assert await house.runs() == [None]


async def test_missed_runs_are_made_up_for_by_one(house: House) -> None:
    agent = working(("0 * * * *", {}))
    await house.start(worker=agent)
    house.clock.advance(hours=7, minutes=30)
    host = await house.start(worker=agent)
    assert await house.runs() == [None]
    assert to_text(next_run_of(host, "worker")) == "2026-03-09T20:00:00.000Z"


async def test_a_delay_and_an_instant_run_once(house: House) -> None:
    at = datetime(2026, 3, 9, 15, 0, tzinfo=UTC)
    jobs = ((timedelta(minutes=5), {"key": "delay", "payload": "delay"}), (at, {"key": "at", "payload": {"at": [3]}}))
    host = await house.start(worker=working(*jobs))
    await house.run_due(minutes=5)
    assert await house.runs() == ["delay"]
    await house.run_due(days=2)
    await house.run_due(days=2)
    assert await house.runs() == ["delay", {"at": [3]}]
    assert private(host, "worker", "main", "SELECT * FROM schedules") == []


async def test_registering_again_keeps_one_row_and_its_time(house: House) -> None:
    agent = working(("0 * * * *", {}), (timedelta(hours=2), {"key": "delay"}))
    await house.start(worker=agent)
    house.clock.advance(minutes=30)
    host = await house.start(worker=agent)
    rows = private(host, "worker", "main", "SELECT key, next_at FROM schedules ORDER BY key")
    assert [(row["key"], row["next_at"]) for row in rows] == [
        ("", "2026-03-09T13:00:00.000Z"),
        ("delay", "2026-03-09T14:00:00.000Z"),
    ]


NOON_TOMORROW, NIGHT = datetime(2026, 3, 10, 12, 0, tzinfo=UTC), datetime(2026, 3, 9, 22, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("0 * * * *", {}), ("30 * * * *", {}), "2026-03-09T12:30:00.000Z"),
        (("0 9 * * *", {}), ("0 9 * * *", {"zone": "Europe/Berlin"}), "2026-03-10T08:00:00.000Z"),
        ((NOON_TOMORROW, {}), (NIGHT, {}), "2026-03-09T22:00:00.000Z"),
        ((timedelta(hours=1), {}), (timedelta(minutes=1), {}), "2026-03-09T12:01:00.000Z"),
        (("0 * * * *", {}), (NIGHT, {}), "2026-03-09T22:00:00.000Z"),
    ],
)
async def test_registering_another_time_replaces(house: House, first: Any, second: Any, expected: str) -> None:
    await house.start(worker=working(first))
    host = await house.start(worker=working(second))
    assert to_text(next_run_of(host, "worker")) == expected


async def test_registering_another_payload_replaces(house: House) -> None:
    await house.start(worker=working(("0 * * * *", {"payload": "old"})))
    await house.start(worker=working(("0 * * * *", {"payload": "new"})))
    await house.run_due(hours=1)
    assert await house.runs() == ["new"]


@pytest.mark.parametrize("when", ["0 0 31 2 *", "0 0 * * * *", datetime(2026, 3, 9)])  # noqa: DTZ001 (that is the point)
async def test_a_time_that_never_comes_is_refused_and_nothing_is_scheduled(house: House, when: Any) -> None:
    host = await house.start(worker=Worker)
    agent = awake(host, "worker", "main")._agent
    with pytest.raises(ValueError, match=r"scheduled|time zone"):
        await agent.schedule(when, agent.job)
    assert private(host, "worker", "main", "SELECT * FROM schedules") == []


class Chain(Worker):
    """Each run sets the next one."""

    jobs = ((timedelta(seconds=10), {}),)

    async def job(self, payload: Any = None) -> None:
        await super().job(payload)
        await self.schedule(timedelta(seconds=10), self.job)


async def test_a_job_may_set_its_own_next_run(house: House) -> None:
    await house.start(worker=Chain)
    assert [await house.run_due(seconds=seconds) for seconds in (10, 9, 1, 10)] == [1, 0, 1, 1]
    assert await house.runs() == [None, None, None]


class Failing(Worker):
    """Its first job throws until `mended`."""

    jobs = (("0 * * * *", {}),)
    mended = False

    async def on_start(self) -> None:
        await self.schedule("0 * * * *", self.broken)
        await super().on_start()

    async def broken(self) -> None:
        if not self.mended:
            raise RuntimeError("broken")
        self.set_state(Seen((*self.state.runs, "mended")))


async def test_a_failing_job_backs_off_and_stops_no_other(house: House) -> None:
    host = await house.start(worker=type("StillFailing", (Failing,), {}))
    await house.run_due(hours=1)
    assert await house.runs() == [None]
    waits = []
    for _ in range(4):
        query = "SELECT min(next_at) AS at FROM schedules WHERE callback = 'broken'"
        at = datetime.fromisoformat(private(host, "worker", "main", query)[0]["at"])
        waits.append((at - house.clock.at).total_seconds())
        await house.run_due(seconds=waits[-1])
    assert waits == [2, 4, 8, 16]
    type(awake(host, "worker", "main")._agent).mended = True
    await house.run_due(seconds=32)
    assert await house.runs() == [None, "mended"]
    assert to_text(next_run_of_broken(host)) == "2026-03-09T14:00:00.000Z"


def next_run_of_broken(host: EmbeddedHost) -> datetime:
    query = "SELECT next_at FROM schedules WHERE callback = 'broken' AND failures = 0"
    return datetime.fromisoformat(private(host, "worker", "main", query)[0]["next_at"])
