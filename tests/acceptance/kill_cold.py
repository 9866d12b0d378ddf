"""`python -m app.cli serve`, started cold, spoken to over its socket, and killed: by itself at a step, or by us."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from config.settings import ROOT
from tests.world import KEY, TOKEN

# What `-m app.cli` does, in a process that dies at the step of that number.
SERVE = """
import itertools, os, runpy, signal, sys
from app.runtime.steps import on_reached
count, deadly = itertools.count(1), int(sys.argv.pop())
def at_step(step):
    print("step", step, flush=True)
    if next(count) == deadly:
        os.kill(os.getpid(), signal.SIGKILL)
on_reached(at_step)
runpy.run_module("app.cli", run_name="__main__", alter_sys=True)
"""


def live(folder: Path, posts: list[tuple[str, int]], number: int) -> list[str]:
    """Serve, post what there is to post until the process dies, or else kill it. The steps it reached."""
    process = _start(folder, number)
    assert process.stdout
    steps, address = [], ""
    for line in process.stdout:
        if line.startswith("step "):
            steps.append(line.split()[1])
        if line.startswith("Triager serves "):
            address = line.split()[2]
            break
    if address:
        _post_all(address, posts)
        process.kill()
    steps += [line.split()[1] for line in process.stdout if line.startswith("step ")]
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL, (folder / "log").read_text()[-8_000:]
    return steps


def _start(folder: Path, number: int) -> "subprocess.Popen[str]":
    environment = {**os.environ, "DATA_DIR": str(folder), "PORT": "0", "HOST": "127.0.0.1", "APP_KEY": KEY}
    if sys.dont_write_bytecode:  # compile at the first start, not at every one
        environment |= {"PYTHONPYCACHEPREFIX": str(folder.with_name("pyc")), "PYTHONDONTWRITEBYTECODE": ""}
    with (folder / "log").open("a") as log:
        command = [sys.executable, "-c", SERVE, "serve", str(number)]
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)


def _post_all(address: str, posts: list[tuple[str, int]]) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with suppress(httpx.TransportError), httpx.Client(base_url=address, headers=headers, timeout=20) as client:
        for verb, which in posts:
            _post(client, verb, which)


def _post(client: httpx.Client, verb: str, which: int) -> None:
    if verb == "sweep":
        response: Any = client.post("/ops/agents/triager/sweep")
    elif verb == "edit":
        response = client.patch(f"/tickets/{which}", json={"title": f"Words {os.urandom(4).hex()}"})
    elif pending := client.get("/approvals").json()["pending"]:
        response = client.post(f"/approvals/{pending[which % len(pending)]['id']}/{verb}", json={})
    else:
        return
    assert response.status_code in (200, 409), response.text
