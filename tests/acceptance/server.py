"""The product as a process of its own, and what is on its disk."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

import httpx
from sqlalchemy.orm import Session

from app.cli import main
from app.runtime.steps import Step, on_reached
from db.engine import SqliteDatabase
from tests.support import a_ticket
from tests.world import KEY, TOKEN, operator_with_token


class Server:
    """A running `triager serve`, spoken to as an operator's program does."""

    def __init__(self, pid: int, printed: list[str], address: str) -> None:
        self.pid, self.printed, self.address = pid, printed, address
        self.client = httpx.Client(base_url=address, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20)

    def post(self, path: str, body: Any = None) -> Any:
        response = self.client.post(path, json=body)
        response.raise_for_status()
        return response.json()

    def pending(self) -> list[str]:
        return [one["id"] for one in self.client.get("/approvals").json()["pending"]]

    def dies(self, path: str, body: Any = None) -> None:
        """Post what makes the process reach its deadly step, during the answer or after it."""
        with suppress(httpx.TransportError):
            self.client.post(path, json=body)
        assert self.wait() == -signal.SIGKILL

    def wait(self) -> int:
        """How it ended, as `subprocess` counts: minus the signal that killed it."""
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)


@contextmanager
def serving(
    folder: Path, command: str = "serve", *, dies_at: Step | None = None, of: signal.Signals = signal.SIGKILL
) -> Iterator[Server]:
    """Start, wait until it serves, and stop it with SIGTERM in the end. `serve` wants a migrated folder.

    A real process, forked from this one, which has imported everything already: a start is then quick.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _serve(folder, command, writer, dies_at, of)
    os.close(writer)
    with os.fdopen(reader) as output:
        printed = list(_until_it_serves(output))
        assert printed[-1].startswith("Triager serves http"), (folder / "stderr").read_text()
        server = Server(pid, printed, printed[-1].split()[2])
        try:
            yield server
        finally:
            server.client.close()
            if server.pid:
                os.kill(server.pid, signal.SIGTERM)
                server.wait()


def _until_it_serves(output: TextIO) -> Iterator[str]:
    for line in output:
        yield line
        if line.startswith("Triager serves http"):
            return
    yield ""


def _serve(folder: Path, command: str, stdout: int, dies_at: Step | None, of: signal.Signals) -> NoReturn:
    """The child: the command, sending itself the signal when it reaches the step."""
    try:
        sys.stdout = os.fdopen(stdout, "w")
        sys.stderr = (folder / "stderr").open("a")
        os.environ.update(DATA_DIR=str(folder), PORT="0", HOST="127.0.0.1", SECURE_COOKIES="0")
        if command == "serve":
            os.environ["APP_KEY"] = KEY
        on_reached(lambda step: os.kill(os.getpid(), of) if step is dies_at else None)
        main([command], standalone_mode=False)
    except BaseException:  # noqa: BLE001 (the child may not return into the test)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def furnish(folder: Path, migrated: Path, tickets: int) -> Path:
    """An installation that has never run, with an operator and so many stale tickets."""

    def fill(session: Session) -> None:
        operator_with_token(session)
        for _ in range(tickets):
            a_ticket(session)

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    shutil.copy(migrated, folder / "triager.sqlite")
    database = SqliteDatabase(folder / "triager.sqlite")
    asyncio.run(database.write(fill))
    database.close()
    return folder


def on_disk(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Read the app's database file, without any code of the product."""
    with sqlite3.connect(f"file:{folder / 'triager.sqlite'}?mode=ro", uri=True) as connection:
        return connection.execute(query).fetchall()


def agent_state(folder: Path) -> dict[str, Any]:
    """The state of the one instance there is, from its file."""
    [path] = (folder / "agents").glob("*/*.sqlite")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT value FROM state").fetchall()
        waiting = connection.execute("SELECT count(*) FROM ledger").fetchone()[0]
    return {**(json.loads(rows[0][0]) if rows else {}), "waiting": waiting}


def until(holds: Callable[[], object], *, seconds: float = 20) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
