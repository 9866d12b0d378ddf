"""`triager tool log`: the audit trail, read from its files."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support_cli import printed, triager


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two days of the trail; a line that was cut off, and one that is none of ours."""
    audit = tmp_path / "audit"
    audit.mkdir()
    lines = {
        "2026-03-08": [entry("2026-03-08T10:00:00.000Z", "tickets_index"), '{"at":"2026', "[1]"],
        "2026-03-09": [
            entry("2026-03-09T10:00:00.000Z", "tickets_close", result="denied", reason="scope", status=None),
            entry("2026-03-09T11:00:00.000Z", "tickets_index", message="\x1b[2Jgone"),
        ],
    }
    for day, of_day in lines.items():
        (audit / f"{day}.jsonl").write_text("".join(f"{line}\n" for line in of_day))
    return tmp_path


def entry(at: str, tool: str, **changed: Any) -> str:
    fields = {"at": at, "kind": "call", "surface": "cli", "principal": "operator:1", "tool": tool, "arguments": {}}
    return json.dumps(fields | {"result": "done", "status": 200, "reason": None, "message": None} | changed)


@pytest.mark.parametrize(
    ("options", "hours"),
    [
        ((), ["08T10", "09T10", "09T11"]),
        (("-n", "1"), ["09T11"]),
        (("--denied",), ["09T10"]),
        (("--tool", "tickets_index"), ["08T10", "09T11"]),
        (("--tool", "tickets_index", "-n", "1"), ["09T11"]),
        (("--since", "2026-03-09T10:00:00Z"), ["09T10", "09T11"]),
        (("--since", "2026-03-09T12:00:00+01:00"), ["09T11"]),
        (("--tool", "nothing"), []),
    ],
)
def test_it_shows_the_newest_that_fit_oldest_first(folder: Path, options: tuple[str, ...], hours: list[str]) -> None:
    found = printed(triager(folder, "tool", "log", "--json", *options))
    assert [one["at"][8:13] for one in found] == hours
    assert len(triager(folder, "tool", "log", *options).stdout.splitlines()) == len(hours)


def test_a_line_for_people_cannot_move_their_cursor(folder: Path) -> None:
    *_, last = triager(folder, "tool", "log").stdout.splitlines()
    assert last == "2026-03-09T11:00:00.000Z  cli  call  operator:1  tickets_index  done 200  {}  \\x1b[2Jgone"


@pytest.mark.parametrize("options", [("-n", "0"), ("--since", "yesterday"), ("--since", "2026-03-09T10:00:00")])
def test_an_option_that_means_nothing_is_a_usage_error(folder: Path, options: tuple[str, ...]) -> None:
    done = triager(folder, "tool", "log", "--json", *options)
    assert done.exit_code == 2
    assert "error" in json.loads(done.stdout)


def test_before_the_first_call_it_says_where_it_looked(tmp_path: Path) -> None:
    done = triager(tmp_path, "tool", "log", "--json")
    assert printed(done) == []
    assert str(tmp_path / "audit") in done.stderr
