"""Ten thousand sleeping instances cost a row each. What is open, on disk and asked for is counted, not timed."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import pytest

from app.runtime.durable.alarms import DUE_MAX
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.durable.storage import OPEN_MAX, SqliteStorage
from app.runtime.instants import after
from db.engine import Database
from tests.contract.agents import Worker, working
from tests.support_host import a_host, files, private
from tests.world import Clock

pytestmark = pytest.mark.anyio
SLEEPERS = 10_000


class Gated(Worker):
    """Every turn waits at the gate, in the middle of its work."""

    gate: ClassVar[asyncio.Event]

    async def touch(self) -> None:
        self.saw("before")
        await self.gate.wait()
        self.saw("after")

    async def job(self, payload: object = None) -> None:
        await self.touch()


@pytest.fixture
def clock(now: datetime) -> Clock:
    return Clock(now)


@pytest.fixture
def host(tmp_path: Path, database: Database, clock: Clock) -> Iterator[EmbeddedHost]:
    Gated.gate = asyncio.Event()
    host = a_host(tmp_path, database, clock, worker=working(("0 * * * *", {})), gated=Gated)
    yield host
    host.close()


def open_databases(folder: Path) -> int:
    """Of the instances below the folder, by the file descriptors of this process."""
    targets = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.exists()]
    return len({path for path in targets if folder in path.parents and path.suffix == ".sqlite"})


def fill(host: EmbeddedHost, clock: Clock, count: int, *, agent: str = "worker", seconds: float = 3600) -> None:
    rows = [(agent, f"sleeper {number}", after(clock.at, seconds)) for number in range(count)]
    index = host._alarms._db
    index.execute("BEGIN")
    index.executemany("INSERT INTO alarms (agent, instance, at) VALUES (?, ?, ?)", rows)
    index.execute("COMMIT")


def statements(host: EmbeddedHost) -> list[str]:
    """A list that grows with every statement on the alarm index from now on."""
    ran: list[str] = []
    host._alarms._db.set_trace_callback(ran.append)
    return ran


async def test_a_start_opens_no_sleeper_and_looks_for_the_next_one_only(
    tmp_path: Path, host: EmbeddedHost, clock: Clock
) -> None:
    fill(host, clock, SLEEPERS)
    ran = statements(host)
    await host.start()
    assert await host.run_due(clock.at) == 2  # the mains
    assert len(ran) < 30
    folder = tmp_path / "agents"
    assert open_databases(folder) == 1 + 1  # the index, and the main that has a schedule
    assert len(files(folder)) == 1 + 1


async def test_while_all_sleep_the_host_asks_nothing_but_when_the_next_one_wakes(
    host: EmbeddedHost, clock: Clock
) -> None:
    fill(host, clock, SLEEPERS)
    stop = asyncio.Event()
    running = asyncio.create_task(host.run(stop))
    await asyncio.sleep(0)
    await host.drain()
    await rounds(20)
    ran = statements(host)
    await rounds(1000)
    assert ran == []
    stop.set()
    await running


async def rounds(count: int) -> None:
    """Let the loop go round so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_an_instance_that_wrote_nothing_has_no_file(tmp_path: Path, host: EmbeddedHost) -> None:
    for number in range(100):
        assert await host.get("gated", f"reader {number}").call("read") == []
    assert [path.name for path in files(tmp_path / "agents")] == ["alarms.sqlite"]
    assert open_databases(tmp_path / "agents") == 1


async def test_however_many_are_in_the_middle_of_a_turn_few_databases_are_open(
    tmp_path: Path, host: EmbeddedHost
) -> None:
    names = [f"busy {number}" for number in range(3 * OPEN_MAX)]
    turns = asyncio.gather(*(host.get("gated", name).call("touch") for name in names))
    await rounds(3)
    assert open_databases(tmp_path / "agents") == OPEN_MAX
    Gated.gate.set()
    await turns
    for name in names:
        assert await host.get("gated", name).call("read") == ["before", "after"]
    assert open_databases(tmp_path / "agents") <= OPEN_MAX + 1


async def test_more_alarms_than_ring_at_a_time_take_turns_and_the_host_does_not_spin_meanwhile(
    host: EmbeddedHost, clock: Clock
) -> None:
    fill(host, clock, 2 * DUE_MAX, agent="gated", seconds=0)
    for number in range(2 * DUE_MAX):
        delay = "INSERT INTO schedules VALUES ('job', '', '@+0', 'UTC', 'null', ?, 0)"
        private(host, "gated", f"sleeper {number}", delay, after(clock.at, 0))
    stop = asyncio.Event()
    running = asyncio.create_task(host.run(stop))
    await rounds(20)
    assert len(host._ringing) == DUE_MAX
    ran = statements(host)
    await rounds(200)
    assert ran == []
    Gated.gate.set()
    async with asyncio.timeout(60):
        while host._alarms.due(clock.at):  # noqa: ASYNC110 (each round lets the host take one step)
            await asyncio.sleep(0)
    assert await host.get("gated", f"sleeper {2 * DUE_MAX - 1}").call("read") == ["before", "after"]
    stop.set()
    await running


def test_reading_makes_no_file_and_the_first_write_does(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "one.sqlite"
    storage = SqliteStorage(path)
    assert storage.sql(" select count(*) AS n FROM ledger") == [{"n": 0}]
    assert not path.parent.exists()
    storage.atomically(lambda: storage.sql("INSERT INTO state VALUES (1, '{}')"))
    storage.close()
    assert SqliteStorage(path).sql("SELECT value FROM state") == [{"value": "{}"}]


def test_the_storage_opened_first_makes_room_and_opens_again_when_it_is_used(tmp_path: Path) -> None:
    opened: dict[SqliteStorage, None] = {}
    storages = [SqliteStorage(tmp_path / f"{number}.sqlite", opened=opened) for number in range(OPEN_MAX + 1)]
    for number, storage in enumerate(storages):
        storage.sql("INSERT INTO state VALUES (1, ?)", str(number))
    assert list(opened) == storages[1:]
    assert storages[0].sql("SELECT value FROM state") == [{"value": "0"}]
    assert list(opened) == [*storages[2:], storages[0]]
    for storage in storages:
        storage.close()
    assert opened == {}
