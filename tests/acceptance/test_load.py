"""Everybody at once, on one SQLite file: no 5xx, no lost decision, and pages that do not wait for writers."""

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import httpx

from app.runtime.instants import to_text, utc_now
from tests.acceptance.server import Server, agent_state, on_disk, serving, until
from tests.support import a_ticket
from tests.world import TOKEN, a_world

PARKED, DECIDERS, EDITORS, EDITS = 50, 8, 4, 15


async def park(folder: Path, migrated: Path) -> None:
    """Fifty requests, asked in five sweeps of the minutes before now."""
    async with a_world(folder, migrated, utc_now() - timedelta(minutes=9)) as world:
        old = to_text(world.clock.at - timedelta(days=12))
        for _ in range(PARKED):
            await world.system.db.write(a_ticket, last_activity_at=old)
        for _ in range(EDITORS):
            await world.system.db.write(a_ticket, last_activity_at=to_text(utc_now()))
        for _ in range(PARKED // 10):
            await world.sweep()
            world.clock.advance(minutes=1)


@contextmanager
def a_client(server: Server) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=server.address, headers=headers, timeout=30) as client:
        yield client


def decide(server: Server, requests: list[str]) -> list[int]:
    with a_client(server) as client:
        verbs = (("approve", "reject")[int(request, 16) % 2] for request in requests)
        return [
            client.post(f"/approvals/{r}/{verb}", json={}).status_code for r, verb in zip(requests, verbs, strict=True)
        ]


def edit(server: Server, ticket_id: int) -> list[int]:
    with a_client(server) as client:
        titles = (f"Edited {n} times" for n in range(EDITS))
        return [client.patch(f"/tickets/{ticket_id}", json={"title": title}).status_code for title in titles]


def sweep_and_look(server: Server) -> list[int]:
    with a_client(server) as client:
        swept = [client.post("/ops/agents/triager/sweep").status_code for _ in range(3)]
        return swept + [client.get(path).status_code for path in ("/", "/approvals", "/tickets") for _ in range(5)]


def sign_in(server: Server) -> list[int]:
    found = []
    for _ in range(5):
        with httpx.Client(base_url=server.address, timeout=30) as browser:
            csrf = re.search(r'name="_csrf" value="(\w+)"', browser.get("/sign-in").text)
            assert csrf
            found.append(browser.post("/sign-in", data={"token": TOKEN, "_csrf": csrf[1], "next": "/"}).status_code)
            found.append(browser.get("/").status_code)
    return found


@contextmanager
def locked(folder: Path) -> Iterator[sqlite3.Connection]:
    """A foreign process's write transaction, as far as SQLite can tell."""
    connection = sqlite3.connect(folder / "triager.sqlite", isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    finally:
        connection.close()


def test_fifty_answers_among_edits_sweeps_and_sign_ins(tmp_path: Path, migrated: Path) -> None:
    asyncio.run(park(tmp_path, migrated))
    with serving(tmp_path) as server, ThreadPoolExecutor(20) as pool:
        requests = server.pending()
        assert len(requests) == PARKED
        work = [pool.submit(decide, server, requests[n::DECIDERS]) for n in range(DECIDERS)]
        work += [pool.submit(edit, server, PARKED + 1 + n) for n in range(EDITORS)]
        work += [pool.submit(sign_in, server), pool.submit(sign_in, server), pool.submit(sweep_and_look, server)]
        statuses = [status for job in work for status in job.result()]
        assert {status for status in statuses if status not in (200, 303)} == set()
        until(lambda: agent_state(tmp_path)["waiting"] == 0, seconds=60)
    decisions = on_disk(tmp_path, "SELECT decision, ended FROM approvals ORDER BY rowid")
    assert {("approved", "used"), ("rejected", "rejected")} >= set(decisions)
    assert len(decisions) == PARKED
    closed = on_disk(tmp_path, "SELECT subject FROM events WHERE kind = 'closed'")
    assert len(closed) == len(set(closed)) == decisions.count(("approved", "used"))
    assert on_disk(tmp_path, "SELECT count(*) FROM events WHERE kind IN ('approved', 'rejected')") == [(PARKED,)]
    assert "database is locked" not in (tmp_path / "stderr").read_text()


def test_an_answer_waits_for_a_foreign_lock_and_pages_do_not(tmp_path: Path, migrated: Path) -> None:
    asyncio.run(park(tmp_path, migrated))
    with serving(tmp_path) as server, ThreadPoolExecutor(2) as pool, a_client(server) as client:
        [first, *_] = server.pending()
        with locked(tmp_path) as foreign:
            answer = pool.submit(server.post, f"/approvals/{first}/approve", {})
            for path in ("/", "/approvals", "/tickets", "/health"):
                assert client.get(path).status_code == 200
            assert not answer.done()
            foreign.execute("COMMIT")
        assert answer.result()["status"] == "approved"
        until(lambda: on_disk(tmp_path, "SELECT count(*) FROM events WHERE kind = 'closed'") == [(1,)])


def test_a_lock_that_never_ends_is_a_503_that_changed_nothing(tmp_path: Path, migrated: Path) -> None:
    asyncio.run(park(tmp_path, migrated))
    with serving(tmp_path) as server, a_client(server) as client:
        [first, *_] = server.pending()
        with locked(tmp_path):
            refused = client.post(f"/approvals/{first}/approve", json={})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "Nothing was changed" in refused.json()["detail"]
        assert server.post(f"/approvals/{first}/approve", {})["status"] == "approved"
