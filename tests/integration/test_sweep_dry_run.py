"""`triager sweep --dry-run`: a table that a person can read, true to the sweep that follows, and not a byte changed."""

import asyncio
import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from app.agents.sweep_plan import TITLE_SHOWN
from app.cli import control
from app.cli.operations import commands
from app.main import build
from app.runtime.durable.lock import HostLock
from app.runtime.durable.storage import file_of
from app.runtime.instants import utc_now
from config.agents import AGENTS
from config.settings import Settings
from db.engine import SqliteDatabase
from tests.support import a_ticket
from tests.support_cli import in_a_world, printed, triager
from tests.support_ledger import parked_closes
from tests.support_sweep import kept_verdicts
from tests.world import KEY, World

HIDDEN = "Pay\u202einvoice\x1b[31m\u200b\n2"
INSTANCE = f"agents/{file_of('triager', 'main')}"


def everything(folder: Path) -> dict[str, str]:
    """A hash of every file, and of what files there are."""
    found = {}
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        stat = path.lstat()
        found[path.relative_to(folder).as_posix()] = f"{oct(stat.st_mode)} {hashlib.sha256(content).hexdigest()}"
    return found


def contents(database: Path) -> list[str]:
    """Every row of every table. Beside a running host the bytes of its files are SQLite's to move: reading a database
    in WAL mode takes a slot in its -shm file, and whoever reads may move pages from the log into the file."""
    with closing(sqlite3.connect(database)) as connection:
        return list(connection.iterdump())


async def a_mixed_queue(world: World) -> None:
    for columns in (
        {"title": HIDDEN},
        {"title": "x" * 256},
        {"last_speaker": "requester", "title": "Nobody answered"},
        {"labels": ("keep-open",)},
        {"priority": "urgent"},
        {"protected_until": "2999-01-01T00:00:00.000Z"},
        {"age_days": 0, "title": "Fresh"},
    ):
        await world.system.db.write(a_ticket, **columns)


def a_fresh_installation(folder: Path) -> None:
    """Set up, with tickets in it; no host was ever started."""
    triager(folder, "db", "upgrade")

    async def fill() -> None:
        database = SqliteDatabase(folder / "triager.sqlite")
        for number in range(12):
            await database.write(a_ticket, title=HIDDEN if number == 0 else f"Ticket {number}")
        database.close()

    asyncio.run(fill())


def dry_run(folder: Path, *more: str) -> Result:
    done = triager(folder, "sweep", "--dry-run", *more)
    assert done.exit_code == 0, done.output
    return done


def test_a_fresh_installation_stays_as_it_is_byte_for_byte(tmp_path: Path) -> None:
    a_fresh_installation(tmp_path)
    before = everything(tmp_path)
    assert len(dry_run(tmp_path, "--json").stdout) > 0
    dry_run(tmp_path)
    assert everything(tmp_path) == before


def test_an_installation_with_waiting_calls_stays_as_it_is_byte_for_byte(tmp_path: Path, migrated: Path) -> None:
    async def work(world: World) -> None:
        await parked_closes(world, 12)
        await a_mixed_queue(world)
        for request in (await world.pending())[:2]:
            await world.reject(request)

    in_a_world(tmp_path, migrated, work)
    before = everything(tmp_path)
    assert INSTANCE in before
    plan = printed(dry_run(tmp_path, "--json"))
    assert everything(tmp_path) == before
    assert [one["verdict"] for one in plan["verdicts"]].count("waiting") == 10


def test_beside_a_running_host_no_row_changes_and_no_file_comes_or_goes(tmp_path: Path, migrated: Path) -> None:
    async def work(world: World) -> None:
        await parked_closes(world, 3)
        await a_mixed_queue(world)

    in_a_world(tmp_path, migrated, work, now=utc_now())
    databases = ("triager.sqlite", INSTANCE, "agents/alarms.sqlite")
    with a_running_host(tmp_path):
        printed(triager(tmp_path, "sweep", "--json"))
        before, files = [contents(tmp_path / name) for name in databases], set(everything(tmp_path))
        others = {name: told for name, told in everything(tmp_path).items() if ".sqlite" not in name}
        first, second = (printed(dry_run(tmp_path, "--json")) for _ in range(2))
        assert first["verdicts"] == second["verdicts"]
        assert [contents(tmp_path / name) for name in databases] == before
        assert set(everything(tmp_path)) == files
        assert {name: told for name, told in everything(tmp_path).items() if ".sqlite" not in name} == others


@contextmanager
def a_running_host(folder: Path) -> Iterator[None]:
    """As `serve` runs one, in a thread of this process: its lock, its socket, its agents."""
    ready, stopped = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        settings = Settings(data_dir=folder, app_key=KEY)
        lock = HostLock(settings.host_lock)
        assert lock.take() is None
        system = build(settings)
        async with control.listening(control.socket_path(folder), commands(system)):
            await system.host.start()
            ready.set()
            await stopped.wait()
        await system.host.drain()
        system.close()
        lock.release()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(20)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join()
        loop.close()


@pytest.mark.parametrize("waiting", [0, 4], ids=["nothing waits", "four wait"])
def test_the_sweep_that_follows_does_what_was_said(tmp_path: Path, migrated: Path, waiting: int) -> None:
    async def work(world: World) -> None:
        await parked_closes(world, waiting)
        await a_mixed_queue(world)
        for number in range(15):
            await world.system.db.write(a_ticket, title=f"More {number}")

    async def sweep(world: World) -> list[dict[str, Any]]:
        await world.sweep()
        return kept_verdicts(world)[-1]

    in_a_world(tmp_path, migrated, work, now=utc_now())
    said = printed(dry_run(tmp_path, "--json"))["verdicts"]
    done = in_a_world(tmp_path, migrated, sweep, now=utc_now())
    became = {"ask": "asked"}
    assert [one | {"verdict": became.get(one["verdict"], one["verdict"])} for one in said] == done
    assert [one["verdict"] for one in said].count("ask") == 10


def test_the_table_has_a_line_a_ticket_and_escapes_what_would_hide(tmp_path: Path, migrated: Path) -> None:
    async def work(world: World) -> None:
        await parked_closes(world, 1)
        await a_mixed_queue(world)

    in_a_world(tmp_path, migrated, work)
    lines = dry_run(tmp_path).stdout.splitlines()
    sums, empty, head, *rows = lines
    assert sums.startswith("open 8, stale 8. A sweep now: ")
    assert sums.endswith("Nothing was changed.")
    for part in ("1 asked already", "3 would be asked", "1 waits for our reply", "2 exempt", "1 protected"):
        assert part in sums
    assert (empty, head.split()) == ("", ["ticket", "verdict", "title", "why"])
    columns = [head.index(word) for word in ("ticket", "verdict", "title", "why")]
    cells = [[row[a:b].strip() for a, b in zip(columns, [*columns[1:], None], strict=True)] for row in rows]
    by_ticket = {ticket: rest for ticket, *rest in cells}
    assert set(by_ticket) == set("12345678")
    assert by_ticket["1"] == ["asked already", "Login page 500s on Safari", "a person has been asked"]
    assert by_ticket["2"][1] == r"Pay\u202einvoice\x1b[31m\u200b\n2"
    assert by_ticket["3"][1] == "x" * TITLE_SHOWN
    assert by_ticket["4"][:2] == ["waits for our reply", "Nobody answered"]
    assert by_ticket["4"][2] == "the requester spoke last, and nobody has answered"
    assert by_ticket["5"][2] == 'the label "keep-open" is exempt'
    assert by_ticket["7"][2] == "protected until 2999-01-01 00:00 UTC"
    assert all(row.isprintable() for row in rows)


def test_json_is_one_document_with_the_same_verdicts(tmp_path: Path, migrated: Path) -> None:
    in_a_world(tmp_path, migrated, a_mixed_queue)
    found = printed(dry_run(tmp_path, "--json"))
    assert set(found) == {"open", "stale", "error", "verdicts"}
    assert (found["stale"], found["error"]) == (7, None)
    for one in found["verdicts"]:
        assert set(one) == {"ticket_id", "title", "verdict", "reason"}
        assert one["reason"]
    assert found["verdicts"][0]["title"] == HIDDEN


def test_an_empty_queue_is_told_in_one_line(tmp_path: Path) -> None:
    triager(tmp_path, "db", "upgrade")
    assert dry_run(tmp_path).stdout == "open 0, stale 0. A sweep now: nothing to look at. Nothing was changed.\n"


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_dry_run_that_sees_nothing_says_why_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    a_fresh_installation(tmp_path)
    monkeypatch.setitem(AGENTS["triager"], "scopes", ["tool:tickets_close"])
    done = triager(tmp_path, "sweep", "--dry-run", *flags)
    assert done.exit_code == 1
    assert 'The sweep saw nothing: agent:triager:main may not call "tickets_index"' in done.stderr
    if flags:
        found = json.loads(done.stdout)
        assert (found["open"], found["stale"], found["verdicts"]) == (None, None, [])
    else:
        assert done.stdout == ""


def test_a_sweep_that_sees_nothing_prints_no_counts_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_fresh_installation(tmp_path)
    monkeypatch.setitem(AGENTS["triager"], "scopes", ["tool:tickets_close"])
    done = triager(tmp_path, "sweep")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "The sweep saw nothing: " in done.stderr


def test_while_every_agent_is_halted_the_plan_is_told(tmp_path: Path) -> None:
    a_fresh_installation(tmp_path)
    assert triager(tmp_path, "halt", "--note", "a leak").exit_code == 0
    said = "open 12, stale 12. A sweep now: 10 would be asked, 2 left for later. Nothing was changed."
    assert dry_run(tmp_path).stdout.startswith(said)
