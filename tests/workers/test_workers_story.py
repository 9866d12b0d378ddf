"""The product on real workerd, over HTTP: the story with README's numbers, and what becomes of it when things break."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from app.runtime.instants import to_text
from tests.workers.conftest import Installation

STALE = """
INSERT INTO tickets (title, status, last_speaker, created_at, updated_at, last_activity_at)
VALUES ('Old', 'open', 'operator', ?, ?, ?) RETURNING id
"""
YES = "UPDATE approvals SET decision = 'approved', decided_by = 'Ana', decided_at = ?, use_by = ? WHERE id = ?"
COUNTERS = ("open", "stale", "asked", "closed", "refused", "deferred")


def sweep(installation: Installation) -> dict[str, int]:
    done = installation.call("POST", "/ops/agents/triager/sweep").raise_for_status().json()["swept"]
    return {name: done[name] for name in COUNTERS}


def pending(installation: Installation) -> list[Any]:
    found: list[Any] = installation.call("GET", "/approvals").raise_for_status().json()["pending"]
    return sorted(found, key=lambda request: int(request["subject"].partition(":")[2]))


def status(installation: Installation, ticket: int) -> str:
    found: str = installation.call("GET", f"/tickets/{ticket}").raise_for_status().json()["ticket"]["status"]
    return found


def answer(installation: Installation, request: Any, how: str) -> None:
    installation.call("POST", f"/approvals/{request['id']}/{how}", json={"reason": None}).raise_for_status()


def closed_once(installation: Installation, ticket: int) -> None:
    subject = f"ticket:{ticket}"
    installation.until([{"status": "closed"}], "SELECT status FROM tickets WHERE id = ?", ticket)
    closed = "SELECT count(*) AS n FROM events WHERE subject = ? AND kind = 'closed'"
    assert installation.d1(closed, subject) == [{"n": 1}]
    assert installation.d1("SELECT ended FROM approvals WHERE subject = ?", subject) == [{"ended": "used"}]


def asked_about(installation: Installation) -> tuple[int, Any]:
    """A ticket that became stale, and the question whether to close it."""
    then = to_text(datetime.now(UTC) - timedelta(days=20))
    [ticket] = installation.d1(STALE, then, then, then)
    sweep(installation)
    [request] = [one for one in pending(installation) if one["subject"] == f"ticket:{ticket['id']}"]
    return ticket["id"], request


def approved_unheard(installation: Installation, request: Any) -> None:
    """A person's yes, of which nobody tells the agent."""
    now = datetime.now(UTC)
    installation.d1(YES, to_text(now), to_text(now + timedelta(days=1)), request["id"])


def test_the_story_with_the_numbers_of_readme(installation: Installation) -> None:
    assert sweep(installation) == dict(zip(COUNTERS, (3, 2, 2, 0, 0, 0), strict=True))
    yes, no = pending(installation)
    assert (yes["subject"], no["subject"]) == ("ticket:1", "ticket:2")
    answer(installation, yes, "approve")
    answer(installation, no, "reject")
    closed_once(installation, 1)
    report = "SELECT count(*) AS n FROM ledger"
    assert installation.door("rows", report) == [{"n": 0}]
    assert sweep(installation) == dict(zip(COUNTERS, (2, 1, 0, 0, 0, 1), strict=True))
    assert status(installation, 2) == "open"


@pytest.mark.parametrize("path", ["/agents", "/agents/triager/main", "/agents/nobody/x", "/%61gents/triager/main"])
@pytest.mark.parametrize("upgrade", [{}, {"Connection": "Upgrade", "Upgrade": "websocket"}])
def test_agents_cannot_be_reached_from_outside(installation: Installation, path: str, upgrade: dict[str, str]) -> None:
    refused = installation.call("GET", path) if not upgrade else installation.web.get(path, headers=upgrade)
    assert refused.status_code == 403
    assert "Agents cannot be reached here" in refused.text


def test_the_console_signs_in_answers_and_polls(installation: Installation) -> None:
    with installation.browser() as web:
        signs_in_answers_and_polls(installation, web)


def signs_in_answers_and_polls(installation: Installation, web: httpx.Client) -> None:
    form = csrf(web.get("/sign-in").text)
    assert web.post("/sign-in", data={"token": installation.token, "next": "/"}).status_code == 403
    signed = web.post("/sign-in", data={"_csrf": form, "token": installation.token, "next": "/"})
    assert (signed.status_code, signed.headers["location"]) == (303, "/")
    page = web.get("/", follow_redirects=True)
    assert page.status_code == 200
    for name in re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text):
        assert web.get(name).status_code == 200
    stamp = web.get("/console/changes").headers["etag"]
    assert web.get("/console/changes", headers={"If-None-Match": stamp}).status_code == 304
    assert web.get("/console/events").status_code == 503
    _, request = asked_about(installation)
    assert web.get("/console/changes", headers={"If-None-Match": stamp}).status_code == 200
    page = web.get("/", follow_redirects=True)
    assert request["id"] in page.text
    assert web.post(f"/console/approvals/{request['id']}/approve").status_code == 403


def test_a_yes_given_while_workerd_was_down_is_carried_out_by_the_alarm(installation: Installation) -> None:
    ticket, request = asked_about(installation)
    approved_unheard(installation, request)
    assert status(installation, ticket) == "open"
    installation.stop()
    installation.start()
    closed_once(installation, ticket)


def test_an_object_that_is_aborted_between_claim_and_settlement_closes_once(installation: Installation) -> None:
    ticket, request = asked_about(installation)
    installation.door("abort_at", "consumed")
    answer(installation, request, "approve")
    spent = "SELECT consumed_at IS NOT NULL AS spent FROM approvals WHERE id = ?"
    installation.until([{"spent": 1}], spent, request["id"])
    installation.look_until(True, lambda: "wake_failed" in installation.log())
    installation.web.get("/cdn-cgi/handler/scheduled").raise_for_status()
    closed_once(installation, ticket)


def test_an_alarm_whose_turn_raised_rings_again(installation: Installation) -> None:
    ticket, request = asked_about(installation)
    approved_unheard(installation, request)
    installation.door("ring")
    closed_once(installation, ticket)
    failures = "SELECT failures FROM object"
    installation.look_until([{"failures": 0}], lambda: installation.door("rows", failures))
    assert "alarm_failed" in installation.log()


def csrf(html: str) -> str:
    found = re.search(r'name="_csrf" value="([0-9a-f]{64})"', html)
    assert found
    return found[1]
