"""A server in a process of its own, on loopback, and what that process spends. Reads /proc: Linux."""

import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from app.measure.asgi import Answer, Request, over

ADDRESS = re.compile(r"http://(\S+)")


class Served:
    """A server, and one connection to it that is kept open."""

    def __init__(self, pid: int, address: str, connection: http.client.HTTPConnection) -> None:
        self.address = f"http://{address}"
        self._pid, self._connection = pid, connection

    def ask(self, request: Request) -> Answer:
        return over(self._connection, request)

    def cpu_ms(self) -> float:
        """What the process has spent since it began, in all its threads."""
        threads = Path(f"/proc/{self._pid}/task").iterdir()
        return sum(int((one / "schedstat").read_text().split()[0]) for one in threads) / 1e6


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
        with closing(http.client.HTTPConnection(address)) as connection:
            yield Served(process.pid, address, connection)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
