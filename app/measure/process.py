"""A server in a process of its own, on loopback, and what that process spends. Its clock is Linux's."""

import http.client
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from app.measure.asgi import Answer, Request, over

ADDRESS = re.compile(r"http://(\S+)")


class Served:
    """A server, and one connection to it that is kept open."""

    def __init__(self, pid: int, host: str) -> None:
        self.address, self._host = f"http://{host}", host
        self._connection = self.connect()
        self._clock = (~pid << 3) | 2  # what clock_getcpuclockid(3) gives

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host)

    def ask(self, request: Request) -> Answer:
        return over(self._connection, request)

    def close(self) -> None:
        self._connection.close()

    def cpu_ms(self) -> float:
        """What the process has spent since it began, in all its threads, those that ended included."""
        return time.clock_gettime(self._clock) * 1000


@contextmanager
def served(module: str, *arguments: str, **environment: str) -> Iterator[Served]:
    """`python -m module arguments…`, from when it has said where it serves to the end of the block."""
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(  # noqa: S603 (our own)
        command, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout  # noqa: S101 (it is a pipe)
    try:
        address = next((found[1] for line in process.stdout if (found := ADDRESS.search(line))), None)
        if address is None:
            raise RuntimeError(f"{module} {' '.join(arguments)} ended before it served.")
        with closing(Served(process.pid, address)) as server:
            yield server
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
