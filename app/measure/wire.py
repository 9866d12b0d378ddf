"""The product in a process of its own, on loopback: what its process spends on a request. Reads /proc: Linux."""

import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from app.measure.asgi import over
from app.measure.bench import KEY
from app.measure.furnished import Furnished
from app.measure.routes import Measured, expect

WARM = 2  # requests before those that count


class Served:
    """A server and one connection to it."""

    def __init__(self, pid: int, address: str) -> None:
        self._pid = pid
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"))

    async def cpu_ms(self, house: Furnished, one: Measured, repeat: int) -> float:
        """The median of what the server's process spent on this route, background work that it caused included.

        A sweep comes once: an agent's calls are limited by the minute, and this clock is the real one.
        """
        spent = []
        for _ in range(1 if one.name.endswith("sweep") else WARM + repeat):
            request, begun = await one.sample(house), self._cpu_ns()
            expect(request, over(self._connection, request))
            spent.append((self._cpu_ns() - begun) / 1e6)
        return round(median(spent[-repeat:]), 2)

    def _cpu_ns(self) -> int:
        return sum(int((task / "schedstat").read_text().split()[0]) for task in _tasks(self._pid))

    def close(self) -> None:
        self._connection.close()


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """`triager serve` over the installation in `folder`."""
    environment = os.environ | {"DATA_DIR": str(folder), "APP_KEY": KEY, "PORT": "0"}
    command = [sys.executable, "-m", "app.cli", "serve"]
    process = subprocess.Popen(  # noqa: S603 (our own)
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout  # noqa: S101 (it is a pipe)
    try:
        address = next(line.split()[2] for line in process.stdout if line.startswith("Triager serves"))
        served = Served(process.pid, address)
        yield served
        served.close()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _tasks(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").iterdir())
