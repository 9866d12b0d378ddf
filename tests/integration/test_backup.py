"""A backup holds everything but the keys; a restore brings it back whole, or touches nothing."""

import os
import random
import sqlite3
import stat
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from app.cli import archive
from app.runtime.durable.lock import HostLock
from app.runtime.instants import utc_now
from app.services import sessions
from db.schema import ApprovalRow, EventRow, SessionRow, SignInLinkRow
from tests.support import NOW, a_ticket
from tests.support_cli import in_a_world, printed, triager
from tests.support_ledger import ledger_rows, parked_closes, settled
from tests.world import KEY, World

FOREVER = "2999-01-01T00:00:00.000Z"
HELD = {"triager.sqlite", "agents/alarms.sqlite", "manifest.json"}


async def live(world: World) -> None:
    """Three questions: one unanswered, one approved and not carried out, one rejected. Somebody is signed in."""
    _, [_, approved, rejected] = await parked_closes(world, 3)
    await world.approve(approved, wake=False)
    await world.change(ApprovalRow, approved, use_by=FOREVER)
    await world.reject(rejected)
    db = world.system.db
    await db.write(sessions.start, "cookie", NOW, user_id=1, token_id=None, ttl_s=10**9, old=None)
    await db.write(sessions.make_link, "link", 1, NOW)


@pytest.fixture
def folder(tmp_path: Path, migrated: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    in_a_world(folder, migrated, live)
    return folder


@pytest.fixture
def file(tmp_path: Path, folder: Path) -> Path:
    """A backup of that installation."""
    (folder / ".env").write_text(f"APP_KEY={KEY}\n")
    assert triager(folder, "backup", str(tmp_path / "a.zip"), APP_KEY="").exit_code == 0
    return tmp_path / "a.zip"


def an_hour_on() -> datetime:
    """By then every ledger has looked once, at what the restore has changed."""
    return utc_now() + timedelta(hours=1)


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "triager.sqlite")
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_a_backup_is_private_and_holds_every_database_and_no_key(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with zipfile.ZipFile(file) as archive:
        names = set(archive.namelist())
        assert names > HELD
        assert len(names - HELD) == 1
        held = b"".join(archive.read(name) for name in names)
    assert KEY.encode() not in held
    assert b"APP_KEY" not in held


def test_a_backup_overwrites_nothing_and_a_failed_one_leaves_nothing(folder: Path, file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    refused = triager(folder, "backup", str(file))
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "File exists. Nothing was written." in refused.stderr
    assert file.read_bytes() == before
    assert triager(folder, "backup", str(tmp_path / "no" / "a.zip")).exit_code == 1
    (folder / "triager.sqlite").write_bytes(b"no database at all, whatever its name says" * 99)
    failed = triager(folder, "backup", str(tmp_path / "b.zip"))
    assert (failed.exit_code, "The backup failed" in failed.stderr) == (1, True)
    assert not (tmp_path / "b.zip").exists()
    assert "There is no database" in triager(tmp_path / "empty", "backup", str(tmp_path / "b.zip")).stderr


def test_a_restored_installation_carries_out_what_was_answered_and_asks_the_rest_anew(
    tmp_path: Path, migrated: Path, folder: Path, file: Path
) -> None:
    async def wake(world: World) -> tuple[Any, ...]:
        at_start = [one[1:] for one in await settled(world)], len(ledger_rows(world))
        asked = (await world.sweep())["asked"]
        return *at_start, asked, [(await world.ticket(ticket)).status for ticket in (1, 2, 3)]

    new = tmp_path / "new"
    told = printed(triager(new, "restore", str(file), "--json"))
    assert (told["instances"], told["sessions"], told["links"], told["cancelled"]) == (1, 1, 1, 1)
    assert stat.S_IMODE(new.stat().st_mode) == 0o700
    assert rows(new, "SELECT ended, ended_reason FROM approvals ORDER BY rowid") == [
        ("cancelled", "restored"),
        (None, None),
        ("rejected", None),
    ]
    assert rows(
        new, "SELECT subject, kind, actor, json_extract(data, '$.reason') FROM events ORDER BY id DESC LIMIT 1"
    ) == [("ticket:1", "cancelled", "operator:shell", "restored")]
    assert rows(new, "SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM sign_in_links)") == [(0,)]
    heard, waiting, asked, tickets = in_a_world(new, migrated, wake, an_hour_on())
    assert sorted(heard) == [("approved", "ok"), ("cancelled", None), ("rejected", None)]
    assert (waiting, asked, tickets) == (0, 1, ["open", "closed", "open"])


def test_keep_keeps_sessions_links_and_unanswered_requests(tmp_path: Path, migrated: Path, file: Path) -> None:
    async def look(world: World) -> tuple[Any, ...]:
        counts = [
            await world.system.db.read(lambda s, table=table: s.scalar(select(func.count()).select_from(table)))
            for table in (SessionRow, SignInLinkRow)
        ]
        [request] = await world.pending()
        await world.approve(request)
        return *counts, (await world.ticket(1)).status

    new = tmp_path / "new"
    assert "cancelled" not in printed(triager(new, "restore", str(file), "--keep", "--json"))
    assert in_a_world(new, migrated, look) == (1, 1, "closed")


def test_an_answer_carried_out_while_the_backup_is_made_is_neither_lost_nor_carried_out_twice(
    tmp_path: Path, migrated: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of the backup the host delivers: the first databases are as of before, the others as of after."""

    async def nothing(world: World) -> None:
        """A start delivers what was answered."""

    async def look(world: World) -> tuple[Any, ...]:
        closed = select(EventRow.subject).filter_by(kind="closed")
        heard = sorted(one[1:] for one in await settled(world))
        return await world.system.db.read(lambda s: list(s.scalars(closed))), heard, ledger_rows(world)

    copied: list[Path] = []

    def copy_one(source: Path, to: Path) -> None:
        _copy(source, to)
        copied.append(source)
        if len(copied) == 1:
            in_a_world(folder, migrated, nothing)

    _copy = archive._copy
    monkeypatch.setattr(archive, "_copy", copy_one)
    assert triager(folder, "backup", str(tmp_path / "b.zip")).exit_code == 0
    assert len(copied) == 3
    triager(tmp_path / "new", "restore", str(tmp_path / "b.zip"))
    closed, heard, waiting = in_a_world(tmp_path / "new", migrated, look, an_hour_on())
    assert (closed, waiting) == (["ticket:2"], [])
    assert heard == [("approved", "ok"), ("cancelled", None), ("rejected", None)]


def test_a_restore_rings_every_alarm_however_far_off_it_was(tmp_path: Path, folder: Path) -> None:
    alarms = sqlite3.connect(folder / "agents" / "alarms.sqlite")
    alarms.execute("UPDATE alarms SET at = NULL, failures = 9")
    alarms.execute("INSERT INTO alarms (agent, instance, at) VALUES ('triager', 'eu', ?)", (FOREVER,))
    alarms.commit()
    alarms.close()
    triager(folder, "backup", str(tmp_path / "b.zip"))
    triager(tmp_path / "new", "restore", str(tmp_path / "b.zip"))
    listed = printed(triager(tmp_path / "new", "agent", "list", "--json"))
    assert len(listed) == 2
    assert all(one["next_at"] < FOREVER and one["failures"] == 0 for one in listed)


def test_a_restore_replaces_nothing_unless_told_to_and_then_moves_it_aside(
    folder: Path, file: Path, migrated: Path
) -> None:
    async def later(world: World) -> None:
        await world.system.db.write(a_ticket, title="Came after the backup")

    in_a_world(folder, migrated, later)
    before = everything_in(folder)
    refused = triager(folder, "restore", str(file))
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "holds an installation. Nothing was restored. To move it aside, say --force." in refused.stderr
    assert everything_in(folder) == before
    replaced = Path(printed(triager(folder, "restore", str(file), "--force", "--json"))["replaced"])
    titles = "SELECT count(*) FROM tickets WHERE title = 'Came after the backup'"
    assert (rows(folder, titles), rows(replaced, titles)) == ([(0,)], [(1,)])
    assert (replaced / "agents" / "alarms.sqlite").exists()
    assert stat.S_IMODE(replaced.stat().st_mode) == 0o700
    assert (folder / ".env").exists()
    assert {path.name for path in folder.iterdir()} == {
        *("triager.sqlite", "agents", "audit", ".env", "host.lock", replaced.name)
    }


def test_beside_a_running_host_nothing_is_restored(folder: Path, file: Path) -> None:
    lock = HostLock(folder / "host.lock")
    lock.take()
    before = everything_in(folder)
    refused = triager(folder, "restore", str(file), "--force")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert f"Process {os.getpid()} is serving this database. Nothing was restored." in refused.stderr
    assert everything_in(folder) == before
    lock.release()


# What is no whole backup


def without(*names: str) -> Callable[[dict[str, bytes]], None]:
    return lambda held: [held.pop(name) for name in names] and None


def with_(name: str, content: bytes = b"x") -> Callable[[dict[str, bytes]], None]:
    return lambda held: held.update({name: content})


def an_old_schema(held: dict[str, bytes], folder: Path) -> None:
    path = folder / "old.sqlite"
    path.write_bytes(held["triager.sqlite"])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '0000'")
    connection.commit()
    connection.close()
    held["triager.sqlite"] = path.read_bytes()


DIGEST = "ab" * 32
SPOILED: dict[str, Callable[[dict[str, bytes]], None]] = {
    "a way out": with_("../evil.sqlite"),
    "a way out below": with_("agents/ab/../../../evil.sqlite"),
    "an absolute path": with_("/evil.sqlite"),
    "a backslash": with_("agents\\..\\evil.sqlite"),
    "a key file": with_(".env", b"APP_KEY=x"),
    "a wal beside the database": with_("triager.sqlite-wal"),
    "a file in the wrong folder": with_(f"agents/cd/{DIGEST}.sqlite"),
    "a name with a newline": with_(f"agents/ab/{DIGEST}.sqlite\n"),
    "no manifest": without("manifest.json"),
    "no app": without("triager.sqlite"),
    "another format": with_("manifest.json", b'{"format":2,"schema":"0001","made_at":"","instances":0}'),
    "a manifest that is none": with_("manifest.json", b"[]"),
    "an instance that is no database": with_(f"agents/ab/{DIGEST}.sqlite", b"not a database, surely" * 99),
    "an instance that is another database": lambda held: held.update(
        {f"agents/ab/{DIGEST}.sqlite": held["triager.sqlite"]}
    ),
    "an app that is cut": lambda held: held.update({"triager.sqlite": held["triager.sqlite"][:-4096]}),
    "alarms that are empty": with_("agents/alarms.sqlite", b""),
}


def repacked(file: Path, to: Path, spoil: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(file) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    spoil(held)
    with zipfile.ZipFile(to, "w") as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    return to


def assert_refused(spoiled: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    outside = {path for path in tmp_path.iterdir() if path != new}
    refused = triager(new, "restore", str(spoiled))
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "Nothing was restored." in refused.stderr
    assert {path.name for path in new.iterdir()} == {"host.lock"}
    assert {path for path in tmp_path.iterdir() if path != new} == outside


@pytest.mark.parametrize("fault", list(SPOILED))
def test_an_archive_that_is_not_what_backup_writes_is_refused_whole(fault: str, file: Path, tmp_path: Path) -> None:
    assert_refused(repacked(file, tmp_path / "spoiled.zip", SPOILED[fault]), tmp_path)


def test_another_schema_is_refused(file: Path, tmp_path: Path) -> None:
    assert_refused(repacked(file, tmp_path / "old.zip", lambda held: an_old_schema(held, tmp_path)), tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_there_twice_is_refused(file: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("triager.sqlite", b"another")
    assert_refused(file, tmp_path)


def test_a_file_that_was_cut_or_garbled_is_refused_or_still_whole(file: Path, tmp_path: Path) -> None:
    dice, whole = random.Random(12), file.read_bytes()  # noqa: S311
    for number in range(60):
        broken = bytearray(whole[: dice.randrange(len(whole))] if number % 3 == 0 else whole)
        if number % 3:
            broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
        file.write_bytes(broken)
        done = triager(tmp_path / f"new{number}", "restore", str(file), "--keep")
        assert done.exception is None or isinstance(done.exception, SystemExit)
        if done.exit_code == 0:  # a bit that no one reads, such as one of a time stamp
            assert rows(tmp_path / f"new{number}", "SELECT count(*) FROM approvals") == [(3,)]
        else:
            assert "Nothing was restored." in done.stderr
