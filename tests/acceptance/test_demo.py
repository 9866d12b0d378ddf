"""`triager demo`, as a reader of README runs it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from app.cli.demo import demo
from app.domain import Refusal
from config.settings import ROOT
from config.triage import POLICY

REAL_TICKETS = ROOT.parent / "shared" / "data" / "real_tickets.csv"


def told(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(demo, [*arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def counters(sweep: dict[str, Any]) -> dict[str, int]:
    return {name: value for name, value in sweep.items() if name != "at"}


def test_the_story_by_hand() -> None:
    story = told()
    first, last = story["sweeps"]
    assert counters(first) == {"open": 3, "stale": 2, "asked": 2, "closed": 0, "refused": 0, "deferred": 0}
    assert counters(last) == {"open": 2, "stale": 1, "asked": 0, "closed": 0, "refused": 0, "deferred": 1}
    assert (story["closed"], story["declined"]) == ([1], [2])
    assert [(one["status"], one["retried"]) for one in story["settled"]] == [("approved", "ok"), ("rejected", None)]


def test_readme_shows_the_transcript_it_prints() -> None:
    arguments = ["--now", "2026-03-09T12:00:00Z"]
    lines = CliRunner().invoke(demo, arguments, catch_exceptions=False).stdout.splitlines()
    shown = (ROOT / "README.md").read_text()
    assert f"  policy  stale_after_days {POLICY['stale_after_days']}, …\n" in shown
    assert all(name in lines[0] for name in POLICY)
    for line in lines[1:5]:
        assert line.partition("nothing has")[0] in shown


def a_backlog(path: Path, tickets: int) -> Path:
    rows = (f"old#{n},Ticket {n},2026-01-{1 + n % 28:02}T10:00:00Z" for n in range(tickets))
    path.write_text("\n".join(("external_id,title,created_at", *rows)))
    return path


def test_a_backlog_is_worked_through_in_hourly_sweeps_of_ten(tmp_path: Path) -> None:
    file = a_backlog(tmp_path / "tickets.csv", 25)
    story = told("--tickets", str(file), "--now", "2026-03-09T12:00:00Z")
    assert [sweep["asked"] for sweep in story["sweeps"]] == [10, 10, 5]
    assert sorted(story["closed"]) == list(range(1, 26))
    assert story["statements"] == {"sweep": 21, "answer": 3, "wake": 3}


def test_a_rejected_backlog_is_asked_about_once(tmp_path: Path) -> None:
    file = a_backlog(tmp_path / "tickets.csv", 12)
    story = told("--tickets", str(file), "--now", "2026-03-09T12:00:00Z", "--answers", "reject")
    assert [sweep["asked"] for sweep in story["sweeps"]] == [10, 2]
    assert (story["closed"], story["declined"]) == ([], list(range(1, 13)))


def test_a_file_without_rows_tells_no_story(tmp_path: Path) -> None:
    (tmp_path / "tickets.csv").write_text("external_id,title,created_at\n")
    with pytest.raises(Refusal, match="no rows"):
        told("--tickets", str(tmp_path / "tickets.csv"))


def test_answers_without_tickets_are_refused() -> None:
    done = CliRunner().invoke(demo, ["--answers", "reject"])
    assert (done.exit_code, "--answers goes with --tickets" in done.stderr) == (2, True)


@pytest.mark.skipif(not REAL_TICKETS.exists(), reason="the real tickets are not beside this checkout")
def test_408_real_tickets() -> None:
    story = told("--tickets", str(REAL_TICKETS), "--now", "2025-10-17T12:00:00Z")
    first = counters(story["sweeps"][0])
    assert first == {"open": 92, "stale": 73, "asked": 10, "closed": 0, "refused": 0, "deferred": 63}
    assert [sweep["asked"] for sweep in story["sweeps"]] == [10] * 7 + [3]
    assert len(set(story["closed"])) == len(story["closed"]) == 73
    assert story["statements"] == {"sweep": 21, "answer": 3, "wake": 3}
