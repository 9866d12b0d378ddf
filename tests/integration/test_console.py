"""The console on the real app: what it shows, and what its three actions do, with and without JavaScript."""

import asyncio
import base64
import re
import sqlite3
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from shutil import copy
from typing import Any

import httpx
import pytest
from sqlalchemy import event
from sqlalchemy.orm import Session
from support import a_ticket, ago, an_approval, an_operator

from app.main import System, build
from app.runtime import invocation
from app.runtime.principal import Principal
from app.services import approvals, sessions, tokens
from config.settings import Settings

pytestmark = pytest.mark.anyio
COOKIE, LOOKER_COOKIE = "c" * 43, "d" * 43
HTMX = {"hx-request": "true"}
HOURS = 3600


class Clock:
    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


class House:
    """The system, two stale tickets among four, and a browser that has signed in."""

    def __init__(self, system: System, clock: Clock) -> None:
        self.system, self.clock, self.spent = system, clock, 0
        self.browser = self.signed_in(COOKIE)

    def signed_in(self, cookie: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self._counted),
            base_url="http://localhost",
            cookies={"session": cookie},
            headers={"accept": "text/html,*/*;q=0.8"},
        )

    async def _counted(self, scope: Any, receive: Any, send: Any) -> None:
        with invocation.begin("trace") as own:
            await self.system.litestar(scope, receive, send)
        self.spent = own.statements

    async def page(self) -> str:
        answer = await self.browser.get("/")
        assert answer.status_code == 200, answer.text
        return answer.text

    async def sweep(self) -> None:
        await self.system.host.get("triager", "main").call("sweep")

    async def asked(self) -> list[str]:
        page = await self.system.db.read(approvals.listing, self.clock())
        return sorted((one.id for one in page.pending), key=lambda id_: int(id_.removeprefix("id")))

    async def post(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> httpx.Response:
        """As a form does it: with the token that the page carries."""
        token = csrf_of(await self.page())
        answer = await self.browser.post(path, data={"_csrf": token, **fields}, headers=headers)
        await self.system.host.drain()
        return answer


@pytest.fixture
def house(migrated: Path, tmp_path: Path, now: datetime) -> Iterator[House]:
    copy(migrated, tmp_path / "triager.sqlite")
    ids, clock = count(1), Clock(now)
    key = base64.b64encode(bytes(32)).decode()
    settings = Settings(data_dir=tmp_path, app_key=key, secure_cookies=False)
    system = build(settings, clock=clock, new_id=lambda: f"id{next(ids)}")
    asyncio.run(system.db.write(_furnish, now))
    yield House(system, clock)
    system.close()


def _furnish(session: Session, now: datetime) -> None:
    for cookie, abilities in ((COOKIE, ["operate"]), (LOOKER_COOKIE, [])):
        user_id = an_operator(session, name="Ops <On-Call>", email=f"{cookie[0]}@example.test", abilities=abilities)
        hashed = tokens.hashed(cookie)
        sessions.start(session, hashed, now, user_id=user_id, token_id=None, ttl_s=24 * HOURS, old=None)
    a_ticket(session, title="Login page 500s on Safari")
    a_ticket(session, title="<script>alert(1)</script>")
    a_ticket(session, title="Docs typo in the quickstart", age_days=1)
    a_ticket(session, title="Billing webhook retry storm", status="closed", closed_at=ago(1))


def csrf_of(html: str) -> str:
    found = re.search(r'name="_csrf" value="([0-9a-f]{64})"', html)
    assert found
    return found[1]


def words(html: str) -> str:
    """What a reader sees."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))


def panel(html: str, title: str) -> str:
    return next(part for part in html.split("<section")[1:] if f'{title}-title"' in part).split("</section>")[0]


async def test_a_visitor_is_led_to_the_sign_in_page_and_htmx_is_told_to_leave(house: House) -> None:
    house.browser.cookies.clear()
    answer = await house.browser.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    answer = await house.browser.get("/console/panels", headers=HTMX | {"hx-current-url": "http://localhost/"})
    assert answer.headers["hx-redirect"] == "/sign-in"


async def test_the_empty_page_says_so_in_every_panel(house: House) -> None:
    html = await house.page()
    assert "Nothing waits for you." in panel(html, "pending")
    assert "Last sweep never" in words(panel(html, "report"))
    assert "Parked on a human none" in words(panel(html, "report"))
    assert "none yet" in panel(html, "answered")
    assert "3 open, 2 stale" in panel(html, "tickets")
    assert "signed in as Ops &lt;On-Call&gt;" in words(html)


async def test_a_request_says_what_would_happen_who_asks_and_until_when(house: House) -> None:
    await house.sweep()
    house.clock.at += timedelta(hours=2)
    html = await house.page()
    shown = words(panel(html, "pending"))
    assert "Pending approvals 2" in shown
    assert "Closes ticket 1, &#34;Login page 500s on Safari&#34;" in shown
    assert "since 25 Feb, 12:00" in shown
    assert "Ticket #1 status open → closed" in shown
    assert "asked by triager/main 2 hours ago expires in 3 days" in shown
    assert "tickets_close(ticket_id=1, version=1)" in shown
    assert html.count("<title>(2) Triager</title>") == 1


async def test_what_a_requester_wrote_is_text(house: House) -> None:
    await house.sweep()
    html = await house.page()
    assert "<script>alert" not in html
    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in panel(html, "tickets")


async def test_the_report_counts_the_last_sweep_and_names_what_waits(house: House) -> None:
    await house.sweep()
    report = words(panel(await house.page(), "report"))
    assert "stale 2 asked 2 closed 0 refused 0 deferred 0" in report
    assert "Last sweep just now" in report
    assert "Ticket #1 until 12 Mar, 12:00 Ticket #2 until 12 Mar, 12:00" in report


async def test_a_signed_in_page_and_its_refresh_cost_five_statements(house: House) -> None:
    await house.sweep()
    await house.page()
    assert house.spent == 5
    await house.browser.get("/console/panels", headers=HTMX)
    assert house.spent == 5


async def test_an_approved_ticket_is_closed_and_shown_as_carried_out(house: House) -> None:
    await house.sweep()
    first, _ = await house.asked()
    answer = await house.post(f"/console/approvals/{first}/approve", reason="Fixed in 4.2")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/?done={first}")
    html = await house.page()
    assert "Ticket #1 Ops &lt;On-Call&gt; , just now Fixed in 4.2 carried out by the agent used" in words(
        panel(html, "answered")
    )
    assert "2 open, 1 stale" in panel(html, "tickets")
    assert "Ticket #1 closed, just now approved" in words(panel(html, "report"))
    assert "Approved. It was carried out." in (await house.browser.get(f"/?done={first}")).text


async def test_a_link_says_nothing_that_did_not_happen(house: House) -> None:
    await house.sweep()
    first, _ = await house.asked()
    for done in ("approved", "swept", "halted", first, "nope"):
        html = (await house.browser.get(f"/?done={done}")).text
        assert 'class="alert' not in html, done


async def test_nothing_is_promised_while_agents_are_halted(house: House) -> None:
    approved = {"decision": "approved", "decided_at": ago(0), "decided_by": "Ops", "use_by": ago(-1)}
    first = await house.system.db.write(an_approval, **approved)
    await house.post("/console/halt")
    html = (await house.browser.get(f"/?done={first}")).text
    assert "Approved. Nothing is carried out before somebody resumes what is halted." in html
    assert "halted, usable until 10 Mar, 12:00" in words(panel(html, "answered"))


@pytest.mark.parametrize("principal", ["token:ci", "operator:shell"])
async def test_who_keeps_no_calls_is_said_to_have_to_repeat_them(house: House, principal: str) -> None:
    first = await house.system.db.write(an_approval, principal_key=principal)
    assert "after a yes, whoever asked must repeat the call" in panel(await house.page(), "pending")
    answer = await house.post(f"/console/approvals/{first}/approve", headers=HTMX)
    assert "Approved. Nothing is carried out before whoever asked repeats the call." in answer.text
    assert "whoever asked must repeat the call, usable until" in words(panel(answer.text, "answered"))
    assert "agent" not in words(panel(answer.text, "answered"))


async def test_a_rejected_ticket_stays_open_and_is_remembered(house: House) -> None:
    await house.sweep()
    first, _ = await house.asked()
    await house.post(f"/console/approvals/{first}/reject")
    html = await house.page()
    assert "remembered always rejected" in words(panel(html, "answered"))
    assert "Declined by a human Ticket #1" in words(panel(html, "report"))
    assert "3 open, 2 stale" in panel(html, "tickets")


@pytest.mark.parametrize(
    ("fields", "said", "until_at"),
    [
        ({}, "will not ask again", None),
        ({"until": "always", "date": ""}, "will not ask again", None),
        ({"until": "window", "date": ""}, "may ask again after that", ago(-3)),
        ({"until": "date", "date": "2026-03-20"}, "may ask again after that", "2026-03-20T23:59:59.999Z"),
        ({"until": "date", "date": "2026-03-09"}, "may ask again after that", "2026-03-09T23:59:59.999Z"),  # today
    ],
)
@pytest.mark.parametrize("headers", [None, HTMX], ids=["form", "htmx"])
async def test_a_no_lasts_as_long_as_the_form_says(
    house: House, fields: dict[str, str], said: str, until_at: str | None, headers: dict[str, str] | None
) -> None:
    await house.sweep()
    first, _ = await house.asked()
    answer = await house.post(f"/console/approvals/{first}/reject", headers=headers, **fields)
    html = answer.text if headers else (await house.browser.get(answer.headers["location"])).text
    assert said in html
    page = await house.system.db.read(approvals.listing, house.clock())
    assert [(one.id, one.until_at) for one in page.declined] == [(first, until_at)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"until": "date"}, "Choose both"),
        ({"until": "date", "date": "2026-02-30"}, "&#34;2026-02-30&#34; is no date. Nothing was decided."),
        ({"until": "date", "date": "soon"}, "is no date. Nothing was decided. Choose a day"),
        ({"until": "date", "date": "20260401"}, "is no date"),
        ({"until": "date", "date": "2026-03-08"}, "The day 2026-03-08 is over (UTC). Nothing was decided."),
        ({"until": "date", "date": "٢٠٢٦-04-01"}, "is no date"),
        ({"until": "always", "date": "2026-03-20"}, "Choose both"),
        ({"until": "window", "date": "2026-03-20"}, "Choose both"),
        ({"until": "never"}, "until"),
    ],
)
async def test_a_no_whose_end_makes_no_sense_is_refused_on_a_page(
    house: House, fields: dict[str, str], said: str
) -> None:
    await house.sweep()
    first, second = await house.asked()
    answer = await house.post(f"/console/approvals/{first}/reject", **fields)
    assert (answer.status_code, said in answer.text) == (422, True)
    assert await house.asked() == [first, second]


@pytest.mark.parametrize("headers", [None, HTMX], ids=["form", "htmx"])
async def test_ask_again_takes_a_ticket_off_the_declined_ones(house: House, headers: dict[str, str] | None) -> None:
    await house.sweep()
    first, _ = await house.asked()
    await house.post(f"/console/approvals/{first}/reject")
    action = f"/console/approvals/{first}/ask-again"
    assert f'action="{action}"' in panel(await house.page(), "report")
    answer = await house.post(action, headers=headers)
    html = answer.text if headers else (await house.browser.get(answer.headers["location"])).text
    assert "Forgotten. The agent may ask again." in html
    assert "Declined by a human none" in words(panel(html, "report"))
    assert "forgotten, may be asked again rejected" in words(panel(html, "answered"))
    again = await house.post(action, headers=headers)
    assert (again.status_code, "no rejection stands" in again.text) == (409, True)


async def test_the_declined_ones_are_found_behind_any_number_of_later_requests(house: House) -> None:
    """The newest twenty, whatever else was answered since; those whose time is over are not among them."""
    for number in range(1, 26):
        await house.system.db.write(_declined, number, until_at=ago(0) if number == 25 else None)
    for number in range(26, 60):
        await house.system.db.write(an_approval, number, requested_at=ago(1), ended="expired")
    page = await house.system.db.read(approvals.listing, house.clock())
    assert [one.subject for one in page.declined] == [f"ticket:{number}" for number in range(24, 4, -1)]
    assert {one.status for one in page.resolved} == {"expired"}
    shown = words(panel(await house.page(), "report"))
    assert "Declined by a human Ticket #24 Ask again Ticket #23 Ask again" in shown
    assert "and 14 more" in shown


async def test_finding_the_declined_ones_reads_no_other_request(house: House) -> None:
    ran: list[tuple[str, Any]] = []
    event.listen(house.system.db._engine, "before_cursor_execute", lambda *given: ran.append(given[2:4]))
    await house.system.db.read(approvals.listing, house.clock())
    query, values = ran[-1]
    with sqlite3.connect(house.system.db.path) as connection:
        plan = " / ".join(row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", values))
    connection.close()
    assert "SCAN approvals USING INDEX approvals_remembered" in plan
    assert "SCAN approvals /" not in plan


def _declined(session: Session, number: int, **columns: Any) -> None:
    an_approval(session, number, requested_at=ago(40 - number), decision="rejected", ended="rejected", **columns)


async def test_htmx_gets_the_part_of_the_page_that_changed(house: House) -> None:
    await house.sweep()
    first, _ = await house.asked()
    answer = await house.post(f"/console/approvals/{first}/approve", headers=HTMX)
    assert answer.status_code == 200
    assert answer.text.startswith("<title>(1) Triager</title>")
    assert "Approved." in answer.text
    assert "<html" not in answer.text
    assert "hx-retarget" not in answer.headers


async def test_run_sweep_asks(house: House) -> None:
    answer = await house.post("/console/sweep")
    assert answer.headers["location"] == "/"
    assert len(await house.asked()) == 2


@pytest.mark.parametrize("headers", [None, HTMX], ids=["form", "htmx"])
async def test_a_second_answer_is_refused_on_the_page_and_changes_nothing(
    house: House, headers: dict[str, str] | None
) -> None:
    await house.sweep()
    first, _ = await house.asked()
    await house.post(f"/console/approvals/{first}/reject")
    answer = await house.post(f"/console/approvals/{first}/approve", headers=headers)
    assert answer.status_code == 409
    assert 'class="alert bad">This request is rejected by Ops &lt;On-Call&gt; already.' in answer.text
    assert "rejected" in panel(answer.text, "answered")


async def test_a_request_that_is_not_there_is_refused_on_the_page(house: House) -> None:
    answer = await house.post("/console/approvals/nope/approve")
    assert answer.status_code == 404
    assert "There is no such request." in answer.text


async def test_an_action_without_the_pages_token_is_refused_as_a_page(house: House) -> None:
    answer = await house.browser.post("/console/sweep", data={})
    assert answer.status_code == 403
    assert "Back to the console" in answer.text
    assert answer.headers["hx-retarget"] == "body"
    assert await house.asked() == []


async def test_a_page_that_is_not_there_is_a_page_for_browsers_and_json_for_others(house: House) -> None:
    answer = await house.browser.get("/nope")
    assert (answer.status_code, "Back to the console" in answer.text) == (404, True)
    answer = await house.browser.get("/nope", headers={"accept": "*/*"})
    assert answer.json()["status"] == 404


async def test_an_endless_reason_is_refused_as_a_page(house: House) -> None:
    await house.sweep()
    first, second = await house.asked()
    answer = await house.post(f"/console/approvals/{first}/reject", reason="x" * 1001)
    assert answer.status_code == 422
    assert "Back to the console" in answer.text
    assert await house.asked() == [first, second]


async def test_somebody_who_may_only_look_sees_the_page_and_decides_nothing(house: House) -> None:
    await house.sweep()
    first, _ = await house.asked()
    house.browser = house.signed_in(LOOKER_COOKIE)
    answer = await house.post(f"/console/approvals/{first}/approve")
    assert answer.status_code == 403
    assert len(await house.asked()) == 2


async def test_an_expired_request_reads_as_expired(house: House) -> None:
    await house.sweep()
    house.clock.at += timedelta(hours=23)
    await house.system.db.write(_later_session, house.clock())
    house.clock.at += timedelta(hours=50)
    await house.system.db.write(_later_session, house.clock())
    assert "nobody answered in time" in panel(await house.page(), "answered")


def _later_session(session: Session, now: datetime) -> None:
    hashed = tokens.hashed(COOKIE)
    sessions.start(session, hashed, now, user_id=1, token_id=None, ttl_s=24 * HOURS, old=hashed)


async def test_answered_requests_say_what_became_of_them(house: House) -> None:
    await house.sweep()
    first, second = await house.asked()
    by = Principal("operator", "1", "Ops")
    said = {"by": by, "now": house.clock(), "reason": None}
    await house.system.db.write(approvals.approve, first, use_ttl_s=24 * HOURS, **said)
    await house.system.db.write(approvals.reject, second, until_at=ago(-9, house.clock()), **said)
    answered = words(panel(await house.page(), "answered"))
    assert "waiting for the agent, usable until 10 Mar, 12:00 approved" in answered
    assert "remembered until 18 Mar, 12:00 rejected" in answered


async def test_static_files_are_public_kept_for_ever_and_only_ours(house: House) -> None:
    house.browser.cookies.clear()
    html = (await house.browser.get("/sign-in")).text
    for address in re.findall(r'(?:href|src)="(/static/[^"]+)"', html):
        answer = await house.browser.get(address)
        assert answer.status_code == 200, address
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    for path in ("/static/nope.css", "/static/../base.html", "/static/%2e%2e/base.html", "/static/"):
        assert (await house.browser.get(path)).status_code == 404, path
