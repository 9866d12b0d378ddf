"""The agent's page: what it says of the agent, and its levers."""

import json
import re
import sqlite3
from datetime import timedelta
from typing import Any, get_args

import pytest
from sqlalchemy import event, insert
from sqlalchemy.orm import Session
from support import a_ticket, ago, an_approval
from support_console import LOOKER_COOKIE, House, words

from app.agents.sweep_plan import Word
from app.domain import VERDICTS
from app.runtime.instants import to_text
from app.services.agent_requests import DECLINED_MAX, requests_of
from db.schema import TicketRow
from tests.support_host import private

pytestmark = pytest.mark.anyio
AGENT = "/console/agents/triager"
KEY = "agent:triager:main"


def panel(html: str, title: str) -> str:
    [found] = [part for part in html.split("<section")[1:] if f'id="{title}-title"' in part]
    return words("<section" + found.split("</section>")[0])


async def an_hour_later(house: House, hours: float = 1) -> None:
    """And an alarm, if one is due by then."""
    house.clock.at += timedelta(hours=hours)
    await house.system.host.run_due(house.clock.at)


async def report(house: House) -> dict[str, Any]:
    return dict((await house.system.host.get("triager", "main").call("overview"))["report"])


async def said(house: House, verb: str, number: int, **fields: str) -> None:
    """A person answers the request about a ticket, and the agent has heard of it."""
    [request] = [one["request_id"] for one in (await report(house))["parked"] if one["subject"] == f"ticket:{number}"]
    await house.post(f"/console/approvals/{request}/{verb}", **fields)


async def test_before_the_first_sweep_the_page_says_so(house: House) -> None:
    html = await house.page(AGENT)
    assert "No sweep yet" in panel(html, "last")
    assert "It has not looked yet." in panel(html, "sweeps")
    assert "<svg" not in html
    assert "Nobody whom it has met." in panel(html, "us")
    assert "It waits for nobody." in panel(html, "parked")
    assert "no answer yet" in panel(html, "limits")


async def test_a_sweep_that_a_person_runs_is_counted_on_the_page_it_leads_to(house: House) -> None:
    html = await house.press("/console/sweep")
    assert "Swept: 2 stale tickets, 2 asked about, 0 left." in html
    assert re.findall(r"\d+", panel(html, "last"))[:6] == ["7", "2", "2", "0", "0", "0"]
    assert "Every stale ticket has been considered." in panel(html, "last")
    assert "#1 Login page 500s on Safari until 12 Mar, 12:00" in panel(html, "parked")
    assert "2 of 50" in panel(html, "limits")
    assert "2 of 10" in panel(html, "limits")
    assert "3 of 30" in panel(html, "limits")
    house.clock.at += timedelta(minutes=2)
    assert "0 of 30" in panel(await house.page(AGENT), "limits")


async def test_a_link_says_of_no_sweep_but_the_last_that_it_was_run(house: House) -> None:
    swept = (await house.post("/console/sweep")).headers["location"]
    house.clock.at += timedelta(minutes=1)
    await house.sweep()
    assert "Swept:" not in await house.page(swept)
    assert "Swept:" not in await house.page(f"{AGENT}?swept=2026-01-01T00:00:00.000Z")


async def test_a_pass_over_many_tickets_says_how_far_it_is(house: House) -> None:
    await house.system.db.write(many, 25)
    await house.sweep()
    html = await house.page(AGENT)
    assert "This pass has considered 10 of 27 stale tickets, in 1 of about 3 sweeps." in panel(html, "last")
    assert '<progress value="10" max="27"' in html


def many(session: Session, count: int, **columns: Any) -> None:
    at = dict.fromkeys(("created_at", "updated_at", "last_activity_at"), ago(20))
    session.execute(insert(TicketRow), [{"title": "x", "last_speaker": "operator"} | at | columns] * count)


async def test_who_waits_for_our_reply_is_listed_and_led_to(house: House) -> None:
    await house.system.db.write(a_ticket, title="<b>Nobody</b> answers", last_speaker="requester")
    await house.sweep()
    html = await house.page(AGENT)
    assert "Waits for our reply 1" in panel(html, "us")
    assert '<a href="/console/tickets/5">' in html
    assert "<bdi>&lt;b&gt;Nobody&lt;/b&gt; answers</bdi>" in html


async def test_what_was_said_no_to_can_be_asked_again(house: House) -> None:
    await house.sweep()
    await said(house, "reject", 1, reason="It is still wanted", until="always", date="")
    html = await house.page(AGENT)
    assert "#1 Login page 500s on Safari by Ops &lt;On-Call&gt; for good: It is still wanted" in panel(html, "declined")
    [again] = re.findall(r'action="(/console/approvals/\w+/ask-again)"', html)
    await house.post(again)
    assert "Nothing yet." in panel(await house.page(AGENT), "declined")


async def test_the_newest_that_are_declined_are_shown_and_the_rest_led_to(house: House) -> None:
    for number in range(1, DECLINED_MAX + 4):
        times = {"requested_at": ago(40 - number), "until_at": ago(0) if number == DECLINED_MAX + 3 else None}
        await house.system.db.write(
            an_approval, number, principal_key=KEY, decision="rejected", ended="rejected", decided_by="Ana", **times
        )
    html = await house.page(AGENT)
    numbers = [int(found) for found in re.findall(r"about Ticket #(\d+)", panel(html, "declined"))]
    assert numbers == list(range(DECLINED_MAX + 2, 2, -1))
    assert 'href="/?tab=rejected"' in html


async def test_finding_them_reads_no_other_request(house: House) -> None:
    ran: list[tuple[str, Any]] = []
    event.listen(house.system.db._engine, "before_cursor_execute", lambda *given: ran.append(given[2:4]))  # type: ignore[attr-defined]
    await house.system.db.read(requests_of, KEY, ["id1"], house.clock())
    [(query, values)] = ran
    with sqlite3.connect(house.system.settings.database) as connection:
        plan = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
    connection.close()
    assert not [step for step in plan if step.startswith("SCAN approvals") and "approvals_remembered" not in step], plan
    assert not [step for step in plan if step.startswith("SCAN tickets")], plan


async def test_what_became_of_requests_is_told_newest_first_with_the_evidence(house: House) -> None:
    await house.sweep()
    house.clock.at += timedelta(minutes=30)
    await said(house, "approve", 1)
    await said(house, "reject", 2, until="always", date="")
    html = await house.page(AGENT)
    told = panel(html, "settled")
    assert told.index("#2") < told.index("#1")
    assert "closed, just now" in told
    assert "left open, just now" in told
    assert "1 of 2 answers" in panel(html, "limits")
    assert "Half of the answers came within 30 minutes" in panel(html, "limits")


async def test_each_sweep_is_a_row_that_leads_to_its_verdicts(house: House) -> None:
    await house.sweep()
    house.clock.at += timedelta(hours=1)
    await house.sweep()
    html = await house.page(AGENT)
    assert "9 Mar, 13:00 2 0 0 0 2 9 Mar, 12:00 2 2 0 0 0" in panel(html, "sweeps")
    first = words(await house.page(f"{AGENT}/sweeps/1"))
    assert "#1 Login page 500s on Safari no activity for 12 days; an operator spoke last asked" in first
    assert "Later" in first
    assert "Earlier" not in first
    second = words(await house.page(f"{AGENT}/sweeps/2"))
    assert "#1 Login page 500s on Safari a person has been asked asked already" in second
    for number in (0, 3, 10**30):
        answer = await house.browser.get(f"{AGENT}/sweeps/{number}")
        assert (answer.status_code, f"No sweep {number} is kept" in answer.text) == (404, True)
    assert (await house.browser.get(f"{AGENT}/sweeps/1?after=-1")).status_code == 422


async def test_of_many_sweeps_twenty_are_listed_and_all_are_reached_and_drawn(house: House) -> None:
    for _ in range(22):
        house.clock.at += timedelta(minutes=1)
        await house.sweep()
    html = await house.page(AGENT)
    assert html.count('<th scope="row">') == 20
    assert "All 22 that are kept" in html
    assert (await house.page(f"{AGENT}/sweeps")).count('<th scope="row">') == 22
    [deferred] = re.findall(r'<path class="deferred" d="([^"]*)"', html)
    assert deferred.count("M") == 21


async def test_the_chart_says_in_words_what_it_shows(house: House) -> None:
    await house.sweep()
    html = await house.page(AGENT)
    assert '<title id="chart-title">What the last 1 sweep did and left</title>' in html
    assert "In all: 2 asked, 0 closed, 0 refused, 0 deferred." in html
    assert " style=" not in html


async def test_verdicts_come_a_hundred_at_a_time_and_by_word(house: House) -> None:
    await house.system.db.write(many, 120, last_speaker="requester")
    await house.sweep()
    html = await house.page(f"{AGENT}/sweeps/1")
    assert "all 122 waits for our reply 120 asked 2" in words(html)
    assert html.count('<span class="tag') == 100
    [more] = re.findall(r'href="([^"]*after=100)"', html)
    assert (await house.page(more.replace("&amp;", "&"))).count('<span class="tag') == 22
    assert (await house.page(f"{AGENT}/sweeps/1?only=asked")).count('<span class="tag') == 2


async def test_a_dry_run_says_what_would_be_done_and_does_nothing(house: House) -> None:
    html = words(await house.page(f"{AGENT}/plan"))
    assert "#1 Login page 500s on Safari no activity for 12 days; an operator spoke last would be asked" in html
    assert await house.asked() == []
    assert private(house.system.host, "triager", "main", "SELECT * FROM runs") == []


async def test_a_paused_job_says_by_whom_and_why_until_the_pause_is_taken_back(house: House) -> None:
    await an_hour_later(house, 0)
    await house.system.host.start()
    await an_hour_later(house, 0)
    assert "sweep 9 Mar, 13:00" in panel(await house.page(AGENT), "jobs")
    html = await house.press(f"{AGENT}/pause", callback="sweep", note="holidays")
    assert "paused by Ops &lt;On-Call&gt; just now : holidays" in panel(html, "jobs")
    await an_hour_later(house)
    assert "No sweep yet" in await house.page(AGENT)
    await house.press(f"{AGENT}/unpause", callback="sweep")
    await an_hour_later(house, 0)
    assert "Last sweep just now" in panel(await house.page(AGENT), "last")
    again = await house.post(f"{AGENT}/unpause", callback="sweep")
    assert (again.status_code, "There is no paused job" in again.text) == (404, True)


async def test_a_halt_from_the_page_names_whom_and_why_and_rests_the_levers(house: House) -> None:
    html = await house.press("/console/halt", agent="triager", note="a leak")
    assert "The agent triager is halted by Ops &lt;On-Call&gt;" in html
    assert "(a leak)" in html
    assert "Halted. It does nothing until somebody resumes it." in words(html)
    assert 'action="/console/sweep"' not in html
    refused = await house.post("/console/sweep")
    assert (refused.status_code, "Nothing was executed" in refused.text) == (409, True)
    assert "No sweep yet" in refused.text
    html = await house.press("/console/resume", agent="triager")
    assert "is halted" not in html


async def test_all_can_be_halted_without_a_word(house: House) -> None:
    assert "Every agent is halted by" in await house.press("/console/halt", agent="", note="")


async def test_an_agent_that_fails_to_answer_is_said_to_and_its_levers_still_work(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr("app.agents.triager.Triager.overview", broken)
    monkeypatch.setattr("app.agents.triager.Triager.sweep", broken)
    shown = await house.browser.get(AGENT)
    assert (shown.status_code, "The agent&#39;s turn failed" in shown.text) == (503, True)
    assert "malformed" not in shown.text
    swept = await house.post("/console/sweep")
    assert (swept.status_code, "The agent&#39;s turn failed" in swept.text) == (503, True)
    halted = await house.post("/console/halt", agent="triager", note="")
    assert halted.status_code == 303


async def test_a_host_that_stops_is_a_notice_too(house: House) -> None:
    house.system.host.stop()
    shown = await house.browser.get(AGENT)
    assert (shown.status_code, "The host is stopping." in shown.text) == (503, True)


async def test_a_process_that_runs_no_agents_says_so(house: House) -> None:
    assert "No host runs in this process" in await house.page(AGENT)


async def test_somebody_who_may_only_look_has_no_levers(house: House) -> None:
    await house.sweep()
    house.browser = house.signed_in(LOOKER_COOKIE)
    html = await house.page(AGENT)
    assert "You may look, not decide." in html
    assert re.findall(r'<form[^>]* action="([^"]*)"', html) == ["/sign-out"]
    for path in ("/console/sweep", "/console/halt", f"{AGENT}/pause"):
        assert (await house.post(path, callback="sweep")).status_code == 403
    assert len(await house.asked()) == 2


async def test_the_pages_cost_at_most_five_statements_and_stay_small_however_much_is_kept(house: House) -> None:
    await house.system.db.write(many, 200, last_speaker="requester")
    await house.sweep()
    row = private(house.system.host, "triager", "main", "SELECT report FROM runs")[0]["report"]
    with sqlite3.connect(next(house.system.settings.data_dir.glob("agents/*/*.sqlite"))) as connection:
        kept = json.loads(row) | {"closed": 1, "refused": 1, "deferred": 1}
        values = [
            (number, to_text(house.clock.at), "[]", to_text(house.clock.at), json.dumps(kept))
            for number in range(2, 101)
        ]
        connection.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", values)
    connection.close()
    html = await house.page(AGENT)
    assert "In all: " in html
    assert house.spent <= 5
    assert len(html) < 45_000
    assert len(await house.page(f"{AGENT}/sweeps/1")) < 45_000
    assert house.spent <= 5
    await house.page(f"{AGENT}/plan")
    assert house.spent <= 5


def test_every_verdict_has_words_for_people_and_no_two_the_same() -> None:
    assert VERDICTS.keys() == {*get_args(Word)}
    assert len({*VERDICTS.values()}) == len(VERDICTS)
