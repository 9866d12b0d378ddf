"""The stored run and the API tell a sweep's verdicts alike, and so do, in people's words, the console and the shell."""

import html
import re
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy.orm import Session

from app.domain import VERDICTS, plain
from app.services import sessions, tokens
from routes.pages import dated
from tests.support import NOW, a_ticket
from tests.support_cli import in_a_world, printed, triager
from tests.support_ledger import a_parked_close
from tests.support_sweep import kept_verdicts
from tests.world import World

COOKIE = "c" * 43
NASTY = "<b>Pay</b>\u202e\x1b[31m & run"


def _signed_in(session: Session) -> None:
    sessions.start(session, tokens.hashed(COOKIE), NOW, user_id=1, token_id=None, ttl_s=86_400, old=None)


async def a_sweep_of_every_kind(world: World) -> list[dict[str, Any]]:
    """The verdicts that the run has kept."""
    _, request = await a_parked_close(world)
    await world.client.post(f"/approvals/{request}/reject", json={"reason": "They <pay> us."})
    await world.system.host.drain()
    for columns in (
        {"title": NASTY},
        {"last_speaker": "requester"},
        {"labels": ("keep-open",)},
        {"protected_until": "2026-05-01T10:30:00.000Z"},
        {"assignee": "Jo", "priority": "urgent"},
    ):
        await world.system.db.write(a_ticket, **columns)
    await world.sweep()
    return kept_verdicts(world)[-1]


async def _seen(world: World) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[list[str]]]:
    """The kept verdicts, the API's, and the lines of the console's page: ticket, reason, verdict."""
    kept = await a_sweep_of_every_kind(world)
    await world.system.db.write(_signed_in)
    answer = await world.client.get("/ops/agents/triager/verdicts")
    transport, host = httpx.ASGITransport(world.system.app), "http://localhost"
    async with httpx.AsyncClient(transport=transport, base_url=host, cookies={"session": COOKIE}) as browser:
        page = await browser.get("/console/agents/triager/sweeps/2", headers={"accept": "text/html"})
    assert page.status_code == 200
    return kept, answer.json()["verdicts"], _lines(page.text)


def _lines(page: str) -> list[list[str]]:
    rows = re.findall(r"<li>(.*?)</li>", page.partition('<ol class="lines verdicts">')[2], re.DOTALL)
    return [[_text(part) for part in re.split(r"<small>|</small>", row)] for row in rows]


def _text(part: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", part)).strip()


def test_every_surface_shows_what_the_run_has_kept(tmp_path: Path, migrated: Path) -> None:
    kept, api, console = in_a_world(tmp_path, migrated, _seen, secure_cookies=False)
    assert len(kept) == 6
    assert kept[0]["reason"] == "a person wants it left open for good: They <pay> us."
    assert api == kept
    for one, line in zip(kept, console, strict=True):
        reason = _text(str(dated(one["reason"], NOW)))
        assert line == [f"#{one['ticket_id']} {plain(one['title'])}", reason, VERDICTS[one["verdict"]]]
    [run] = printed(triager(tmp_path, "agent", "runs", "triager/main", "--run", "2", "--json"))
    assert run["details"] == kept
    shown = triager(tmp_path, "agent", "runs", "triager/main", "--run", "2").stdout
    for one in kept:
        [line] = [line for line in shown.splitlines()[1:] if line.startswith(f"{one['ticket_id']} ")]
        assert re.split(r" {2,}", line)[1:2] == [VERDICTS[one["verdict"]]]
        assert line.endswith(f"  {one['reason']}")
    assert "\u202e" not in shown
    assert "\x1b" not in shown


def test_a_run_keeps_its_verdicts_when_later_ones_have_theirs(tmp_path: Path, migrated: Path) -> None:
    in_a_world(tmp_path, migrated, a_sweep_of_every_kind)
    [first] = printed(triager(tmp_path, "agent", "runs", "triager/main", "--run", "1", "--json"))
    assert [(one["ticket_id"], one["verdict"]) for one in first["details"]] == [(1, "asked")]
    runs = printed(triager(tmp_path, "agent", "runs", "triager/main", "--json"))
    assert [run["id"] for run in runs] == [2, 1]
    assert all("details" not in run for run in runs)  # the list stays short


def test_a_run_that_is_not_kept_is_refused(tmp_path: Path, migrated: Path) -> None:
    in_a_world(tmp_path, migrated, a_sweep_of_every_kind)
    refused = triager(tmp_path, "agent", "runs", "triager/main", "--run", "7")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "triager/main keeps no run 7" in refused.stderr


def test_a_sweep_by_command_prints_its_sums(tmp_path: Path) -> None:
    triager(tmp_path, "db", "upgrade")
    assert triager(tmp_path, "sweep").stdout == "open 0, stale 0, asked 0, closed 0, refused 0, deferred 0\n"
    assert printed(triager(tmp_path, "sweep", "--json"))["stale"] == 0


def test_how_people_answered_is_in_what_show_tells(tmp_path: Path, migrated: Path) -> None:
    in_a_world(tmp_path, migrated, a_sweep_of_every_kind)
    report = printed(triager(tmp_path, "agent", "show", "triager/main", "--json"))["report"]
    assert report["answers"] == {
        "approved": 0,
        "rejected": 1,
        "expired": 0,
        "approval_rate": 0.0,
        "median_wait_s": 0.0,
    }
    assert [one["ticket_id"] for one in report["waiting_on_us"]] == [3]
    assert "answers: {" in triager(tmp_path, "agent", "show", "triager/main").stdout
