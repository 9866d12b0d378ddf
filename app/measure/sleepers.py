"""What sleeping instances cost: the product, started in a process of its own over an alarm index full of them.

Reads /proc, so it runs on Linux.
"""

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from app.measure.bench import a_system, installed
from app.runtime.durable.alarms import ALARMS, Alarms
from app.runtime.instants import to_text, utc_now

WATCHED_S = 4.0


class Sleepers(Struct, frozen=True):
    n: int
    rss_mb: float
    cpu_percent: float
    start_s: float


def sleepers(count: int) -> Sleepers:
    with installed() as system:
        _fill(system.settings.data_dir / "agents" / ALARMS, count)
        command = [sys.executable, "-m", __name__, str(system.settings.data_dir), str(count)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 (this very module)
        return msgspec.json.decode(done.stdout.splitlines()[-1], type=Sleepers)


def _fill(index: Path, count: int) -> None:
    """Each wakes within a day, none within the first hour."""
    Alarms(index).close()
    now = utc_now()
    rows = (
        ("triager", f"sleeper {n}", to_text(now + timedelta(hours=1, seconds=86_400 * n / count))) for n in range(count)
    )
    with sqlite3.connect(index) as db:
        db.executemany("INSERT INTO alarms (agent, instance, at) VALUES (?, ?, ?)", rows)
    db.close()


async def _watch(folder: Path, count: int) -> Sleepers:
    """Start the host, and watch it for a while. The time to import Python modules is none of the host's."""
    start, stop = time.perf_counter(), asyncio.Event()
    system = a_system(folder)
    await system.host.start()
    await system.host.run_due(utc_now())
    started = time.perf_counter()
    running = asyncio.create_task(system.host.run(stop))
    await asyncio.sleep(1)
    cpu, since = time.process_time(), time.perf_counter()
    await asyncio.sleep(WATCHED_S)
    cpu_percent = (time.process_time() - cpu) / (time.perf_counter() - since) * 100
    rss_mb = _rss_mb()
    stop.set()
    await running
    system.close()
    return Sleepers(
        n=count,
        rss_mb=rss_mb,
        cpu_percent=round(cpu_percent, 2),
        start_s=round(started - start, 2),
    )


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


if __name__ == "__main__":
    found = asyncio.run(_watch(Path(sys.argv[1]), int(sys.argv[2])))
    print(msgspec.json.encode(found).decode())  # noqa: T201 (for the process that started this one)
