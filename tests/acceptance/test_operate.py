"""What an operator does beside a running host, from another process."""

import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.server import Server, furnish, on_disk, serving, until
from tests.support_cli import printed, triager

SWEEP = "/ops/agents/triager/sweep"


@pytest.fixture
def folder(tmp_path: Path, migrated: Path) -> Path:
    """An installation with two stale tickets."""
    return furnish(tmp_path / "data", migrated, 2)


def test_agents_are_looked_at_and_woken_through_the_host(folder: Path) -> None:
    with serving(folder) as server:
        server.post(SWEEP)
        [one] = printed(triager(folder, "agent", "list", "--json"))
        assert (one["agent"], one["instance"], one["registered"], one["failures"]) == ("triager", "main", True, 0)
        shown = printed(triager(folder, "agent", "show", "triager/main", "--json"))
        assert [call["request_id"] for call in shown["parked"]] == server.pending()
        assert printed(triager(folder, "agent", "wake", "triager/main", "--json"))["waiting"] == 2
        [run] = printed(triager(folder, "agent", "runs", "triager/main", "--json"))
        assert (run["report"]["asked"], run["taken"]) == (2, [1, 2])


def test_a_refusal_comes_back_as_one_line_and_is_no_fault_of_the_host(folder: Path) -> None:
    with serving(folder):
        refused = triager(folder, "agent", "show", "triager/mian")
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert refused.stderr == 'There is no instance "triager/mian". Nothing was executed. See: triager agent list\n'
        there = triager(folder, "backup", str(folder / "triager.sqlite"))
        assert (there.exit_code, "File exists. Nothing was written." in there.stderr) == (1, True)
    assert "Traceback" not in (folder / "stderr").read_text()


def test_readiness_is_there_for_strangers(folder: Path) -> None:
    with serving(folder) as server:
        server.client.headers.pop("Authorization")
        until(lambda: server.client.get("/health/ready").status_code == 200)
        assert server.client.get("/health").json() == {"ok": True}


def test_what_would_pull_the_ground_from_under_the_host_is_refused(folder: Path, tmp_path: Path) -> None:
    with serving(folder) as server:
        assert triager(folder, "backup", str(tmp_path / "a.zip")).exit_code == 0
        for command in (("restore", str(tmp_path / "a.zip"), "--force"), ("key", "rotate")):
            refused = triager(folder, *command)
            assert (refused.exit_code, refused.stdout) == (1, "")
            assert f"Process {server.pid} " in refused.stderr
            assert "Stop it first." in refused.stderr


def test_a_backup_beside_a_busy_host_is_whole_and_an_answer_in_it_is_carried_out(folder: Path, tmp_path: Path) -> None:
    file, new = tmp_path / "a.zip", tmp_path / "new"
    with serving(folder) as server:
        server.post(SWEEP)
        busy, stop = threading.Event(), threading.Event()
        writer = threading.Thread(target=write_on, args=(server, busy, stop))
        writer.start()
        busy.wait(20)
        for number in range(5):
            assert triager(folder, "backup", str(tmp_path / f"{number}.zip")).exit_code == 0
        server.post(f"/approvals/{server.pending()[0]}/approve", {})
        assert triager(folder, "backup", str(file)).exit_code == 0
        stop.set()
        writer.join()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert printed(triager(new, "restore", str(file), "--json"))["cancelled"] == 1
    with closing(sqlite3.connect(new / "triager.sqlite")) as restored:
        [[tickets]] = restored.execute("SELECT count(*) FROM tickets")
    assert 2 < tickets <= on_disk(folder, "SELECT count(*) FROM tickets")[0][0]
    with serving(new):
        until(lambda: on_disk(new, "SELECT subject FROM events WHERE kind = 'closed'") == [("ticket:1",)])
        until(lambda: printed(triager(new, "agent", "show", "triager", "--json"))["report"]["settled"])


def write_on(server: Server, busy: threading.Event, stop: threading.Event) -> None:
    while not stop.is_set():
        server.post("/tickets", {"title": "Printer on fire"})
        busy.set()
