"""The product as a process of its own, and what is on its disk."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.world import KEY, TOKEN

WAIT_S = 60  # for a process to start on a loaded machine; never slept for in full


class Server:
    """A running `triager serve`, spoken to as an operator's program does."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self.process = process
        self.client = httpx.Client(base_url=address, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20)

    def post(self, path: str, body: Any = None) -> Any:
        response = self.client.post(path, json=body)
        response.raise_for_status()
        return response.json()

    def pending(self) -> list[str]:
        return [one["id"] for one in self.client.get("/approvals").json()["pending"]][::-1]

    def dies(self, path: str, body: Any = None) -> None:
        """Post what makes the process reach its deadly step, during the answer or after it."""
        try:
            self.client.post(path, json=body)
        except httpx.TransportError:
            pass
        assert self.process.wait(WAIT_S) == -9


@contextmanager
def serving(folder: Path, *, dies_at: str | None = None) -> Iterator[Server]:
    """Start on a migrated `folder`, wait until it serves, and stop it with SIGTERM in the end."""
    command = (
        [sys.executable, "-m", "tests.acceptance.dies_at", dies_at] if dies_at else [sys.executable, "-m", "app.cli"]
    )
    environment = {**os.environ, "DATA_DIR": str(folder), "APP_KEY": KEY, "PORT": "0", "HOST": "127.0.0.1"}
    pipe, errors = subprocess.PIPE, (folder / "stderr").open("a")
    with (
        errors,
        subprocess.Popen([*command, "serve"], stdout=pipe, stderr=errors, env=environment, text=True) as process,
    ):
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("Triager serves http"), (folder / "stderr").read_text()
        server = Server(process, line.split()[2])
        try:
            yield server
        finally:
            server.client.close()
            process.terminate()


def on_disk(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Read the app's database file, without any code of the product."""
    with sqlite3.connect(f"file:{folder / 'triager.sqlite'}?mode=ro", uri=True) as connection:
        return connection.execute(query).fetchall()


def agent_state(folder: Path) -> dict[str, Any]:
    """The state of the one instance there is, from its file."""
    [path] = [path for path in (folder / "agents").glob("*/*.sqlite")]
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT value FROM state").fetchall()
        waiting = connection.execute("SELECT count(*) FROM ledger").fetchone()[0]
    return {**(json.loads(rows[0][0]) if rows else {}), "waiting": waiting}


def until(holds: Any, *, seconds: float = 20) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
