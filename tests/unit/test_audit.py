"""The audit trail on disk: a private file a day, a line an entry, whatever else writes or fails."""

import json
import multiprocessing
import os
import shutil
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.runtime.tools.audit import Entry
from app.web.audit_files import DAYS, FileSink

AT = "2026-03-09T12:00:00.000Z"


def an_entry(**changed: Any) -> Entry:
    fields: dict[str, Any] = {
        "at": AT,
        "kind": "call",
        "surface": "cli",
        "principal": "operator:1",
        "tool": "tickets_index",
        "arguments": {"limit": 1},
        "result": "done",
        "status": 200,
        "reason": None,
        "message": None,
        "request_id": None,
        "ms": 1.5,
        "trace_id": "t",
    }
    return Entry(**fields | changed)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def test_each_entry_is_a_line_of_the_file_of_its_day_in_utc(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "audit")
    for at in ("2026-03-09T23:59:59.999Z", "2026-03-10T00:00:00.000Z", "2026-03-10T00:00:00.001Z"):
        sink.write(an_entry(at=at))
    first, second = sink.days()
    assert (first.name, second.name) == ("2026-03-09.jsonl", "2026-03-10.jsonl")
    assert [len(lines(path)) for path in (first, second)] == [1, 2]
    [line] = lines(first)
    assert line["arguments"] == {"limit": 1}
    assert set(line) == set(Entry.__struct_fields__)


def test_only_its_owner_can_read_it_and_nothing_is_there_before_the_first_entry(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "audit"
    sink = FileSink(folder)
    assert sink.days() == []
    assert not folder.exists()
    sink.write(an_entry())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(sink.days()[0].stat().st_mode) == 0o600


def _write(folder: Path, who: int, count: int) -> None:
    for number in range(count):
        FileSink(folder).write(an_entry(principal=f"operator:{who}", arguments={"n": number, "pad": "x" * 3_000}))


def test_processes_that_write_at_once_never_mix_their_lines(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(tmp_path, who, 200)) for who in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    found = lines(FileSink(tmp_path).days()[0])
    for who in range(3):
        assert [one["arguments"]["n"] for one in found if one["principal"] == f"operator:{who}"] == [*range(200)]


def test_a_file_that_somebody_deleted_begins_anew(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "audit")
    sink.write(an_entry())
    shutil.rmtree(tmp_path / "audit")
    sink.write(an_entry())
    assert [len(lines(path)) for path in sink.days()] == [1]
    sink.close()


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    (tmp_path / f"{AT[:10]}.jsonl").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        FileSink(tmp_path).write(an_entry())


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / f"{AT[:10]}.jsonl"
    path.write_text('{"at":"2026')
    FileSink(tmp_path).write(an_entry())
    FileSink(tmp_path).write(an_entry())
    cut_off, *whole = path.read_text().splitlines()
    assert cut_off == '{"at":"2026'
    assert [json.loads(line)["at"] for line in whole] == [AT, AT]


def test_a_write_that_falls_short_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the disk fills up in the middle of a line."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:10]))
    with pytest.raises(OSError, match="cut off"):
        FileSink(tmp_path).write(an_entry())


def test_old_days_are_deleted_and_nothing_else(tmp_path: Path) -> None:
    now = datetime(2026, 3, 9, 3, 0, tzinfo=UTC)
    sink = FileSink(tmp_path)
    for days in (0, DAYS, DAYS + 1, DAYS + 400):
        sink.write(an_entry(at=f"{now - timedelta(days=days):%Y-%m-%dT%H:%M:%S}.000Z"))
    others = {"notes.txt", "2020-01-01.jsonl.gz", "2020-aa-99.jsonl"}
    for name in others:
        (tmp_path / name).write_text("mine")
    assert sink.prune(now) == 2
    assert {path.name for path in tmp_path.iterdir()} == others | {"2025-12-09.jsonl", "2026-03-09.jsonl"}
