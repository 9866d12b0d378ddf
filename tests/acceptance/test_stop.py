"""SIGTERM in the middle of work, in a real process: it stops before the next call, and the next start goes on."""

import asyncio
import os
import re
import signal
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.runtime.instants import utc_now
from app.runtime.steps import Step
from tests.acceptance.server import Server, agent_state, furnish, on_disk, serving, until
from tests.world import TOKEN, a_world

STALE = 12
SWEEP = "/ops/agents/triager/sweep"
CLOSED = "SELECT subject FROM events WHERE kind = 'closed' ORDER BY id"


@pytest.fixture
def folder(tmp_path: Path, migrated: Path) -> Path:
    """An installation with more stale tickets than one sweep may ask about."""
    return furnish(tmp_path, migrated, STALE)


def runs(folder: Path) -> list[tuple[Any, ...]]:
    [path] = (folder / "agents").glob("*/*.sqlite")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        return connection.execute("SELECT id, json_array_length(taken), finished_at IS NULL FROM runs").fetchall()


def test_a_sweep_stops_before_its_next_call_and_goes_on_within_its_cap(folder: Path, migrated: Path) -> None:
    with serving(folder, dies_at=Step.ASKED, of=signal.SIGTERM) as server:
        answer = server.client.post(SWEEP)
        assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)
        assert "The host is stopping" in answer.json()["detail"]
        assert server.wait() == 0
    assert on_disk(folder, "SELECT count(*) FROM approvals") == [(1,)]
    assert runs(folder) == [(1, 10, 1)]
    assert asyncio.run(_sweep_again(folder, migrated))["asked"] == 10  # the first one's question stands
    assert on_disk(folder, "SELECT count(*), count(DISTINCT subject) FROM approvals") == [(10, 10)]
    assert runs(folder) == [(1, 10, 0)]


async def _sweep_again(folder: Path, migrated: Path) -> dict[str, Any]:
    async with a_world(folder, migrated, utc_now() + timedelta(seconds=1)) as world:
        return await world.sweep()


def test_a_scheduled_sweep_that_was_stopped_is_due_at_the_next_start_and_no_failure(
    folder: Path, migrated: Path
) -> None:
    asyncio.run(_start_an_hour_ago(folder, migrated))
    with serving(folder, dies_at=Step.ASKED, of=signal.SIGTERM) as server:
        assert server.wait() == 0  # its alarm rang at once
    assert on_disk(folder, "SELECT count(*) FROM approvals") == [(1,)]
    assert alarms(folder) == [(0, 1)]
    with serving(folder):  # and no request is made
        until(lambda: on_disk(folder, "SELECT count(*) FROM approvals") == [(10,)])
        until(lambda: runs(folder) == [(1, 10, 0)])


async def _start_an_hour_ago(folder: Path, migrated: Path) -> None:
    async with a_world(folder, migrated, utc_now() - timedelta(hours=2)):
        pass


def alarms(folder: Path) -> list[tuple[Any, ...]]:
    """Failures, and whether it is due."""
    with sqlite3.connect(f"file:{folder / 'agents' / 'alarms.sqlite'}?mode=ro", uri=True) as connection:
        now = utc_now().isoformat()
        return connection.execute("SELECT failures, at < ? FROM alarms", (now,)).fetchall()


def test_deliveries_stop_before_the_next_row_and_the_next_start_carries_out_the_rest(folder: Path) -> None:
    with serving(folder) as server:
        server.post(SWEEP)
        requests = server.pending()[:3]
    decide(folder, requests)
    with serving(folder, dies_at=Step.DISPATCHED, of=signal.SIGTERM) as server:
        assert server.wait() == 0
    assert on_disk(folder, CLOSED) == [("ticket:1",)]
    assert [one["status"] for one in agent_state(folder)["settled"]] == ["approved"]
    with serving(folder):  # and no request is made
        until(lambda: len(agent_state(folder)["settled"]) == 3)
    assert on_disk(folder, CLOSED) == [("ticket:1",), ("ticket:2",), ("ticket:3",)]


def decide(folder: Path, requests: list[str]) -> None:
    """Approved while no process runs, as a crash right after the answers would leave it."""
    use_by = (utc_now() + timedelta(hours=1)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    with sqlite3.connect(folder / "triager.sqlite") as connection:
        connection.executemany(
            "UPDATE approvals SET decision = 'approved', decided_at = requested_at, use_by = ? WHERE id = ?",
            [(use_by, request) for request in requests],
        )


def test_a_second_signal_ends_it_at_once(folder: Path) -> None:
    """While a request under way may still end: one that never sends its body."""
    with serving(folder) as server, half_a_request(server):
        os.kill(server.pid, signal.SIGTERM)
        until(lambda: refuses_connections(server))
        assert os.waitpid(server.pid, os.WNOHANG) == (0, 0)
        os.kill(server.pid, signal.SIGTERM)
        assert server.wait() == -signal.SIGTERM


@contextmanager
def half_a_request(server: Server) -> Iterator[None]:
    with socket.create_connection(address(server)) as connection:
        head = f"POST /tickets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        connection.sendall(f"{head}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # it has begun
        yield


def refuses_connections(server: Server) -> bool:
    try:
        socket.create_connection(address(server)).close()
    except OSError:
        return True
    return False


def address(server: Server) -> tuple[str, int]:
    return "127.0.0.1", int(server.address.rpartition(":")[2])


def test_open_pages_keep_no_server_from_stopping(folder: Path) -> None:
    with serving(folder) as server, httpx.Client(base_url=server.address, timeout=20) as browser:
        [csrf] = re.findall(r'name="_csrf" value="(.*?)"', browser.get("/sign-in").text)
        assert browser.post("/sign-in", data={"token": TOKEN, "_csrf": csrf}).status_code == 303
        with browser.stream("GET", "/console/events") as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("data: ")
            os.kill(server.pid, signal.SIGTERM)
            assert "".join(lines) == ""  # its end: whoever does not end in time has his connection broken
        assert server.wait() == 0
