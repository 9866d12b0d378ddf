"""Pages that follow what happens elsewhere: over a stream, over a poll, across a restart, a sleep and a sign-out."""

import os
import re
from collections.abc import Callable
from queue import Queue

import pytest
from sqlalchemy import delete
from sqlalchemy.orm import Session
from support import ago, an_approval

if not os.environ.get("CI"):
    pytest.importorskip("playwright", reason="needs: uv sync --group browser")

from playwright.sync_api import Page, Route, expect
from support_browser import TOKEN, Server, running, sign_in

from app.main import build
from app.runtime.instants import utc_now
from db.schema import SessionRow

STREAM, POLL, STALE = "**/console/events", "**/console/changes", "#stale"


def a_request(session: Session, ticket_id: int = 1) -> str:
    now = utc_now()
    return an_approval(session, ticket_id, requested_at=ago(0, now), expires_at=ago(-3, now))


def end_sessions(session: Session) -> None:
    session.execute(delete(SessionRow))


def hide(page: Page, *, hidden: bool) -> None:
    """As another tab in front of it does."""
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def asked(page: Page) -> list[str]:
    """The addresses that the page asks for from now on."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url.partition("/console/")[2]))
    return found


def test_a_request_made_elsewhere_appears_within_two_seconds(page: Page, server: Server) -> None:
    server.write(a_request)
    expect(page.locator("#page")).to_contain_text("Closes ticket 1.", timeout=2_000)
    expect(page.locator("#pages .count")).to_have_text("1")
    expect(page).to_have_title(re.compile(r"^\(1\) Inbox"))


def test_where_there_is_no_stream_the_page_polls(
    page: Page, server: Server, address: str, complaints: list[str]
) -> None:
    page.route(STREAM, lambda route: route.fulfill(status=503))
    page.clock.install()
    with page.expect_response(POLL) as polled:
        page.goto(address)
    assert polled.value.status == 304
    server.write(a_request)
    with page.expect_response(POLL) as polled:
        page.clock.run_for(5_000)
    assert polled.value.status == 200
    expect(page.locator("#page")).to_contain_text("Closes ticket 1.")
    complaints[:] = [said for said in complaints if "503" not in said]


def test_a_server_that_is_gone_is_said_and_its_return_is_noticed(
    page: Page, server: Server, complaints: list[str]
) -> None:
    port = int(server.address.rpartition(":")[2])
    server.stop()
    expect(page.locator(STALE)).to_have_text("Not up to date: the server does not answer.")
    again = Server(build(server.system.settings), port=port)
    with running(again):
        expect(page.locator(STALE)).to_have_count(0, timeout=10_000)
        again.write(a_request)
        expect(page.locator("#page")).to_contain_text("Closes ticket 1.", timeout=4_000)
        page.context.close()
    complaints[:] = [said for said in complaints if "Failed to load resource: net::ERR" not in said]


def test_a_session_that_ended_leads_to_sign_in_and_back_with_nothing_decided(
    page: Page, server: Server, address: str
) -> None:
    server.write(a_request)
    expect(page.locator("#page")).to_contain_text("Closes ticket 1.")
    page.goto(f"{address}/console/sessions?x=1")
    server.write(end_sessions)
    page.wait_for_url(f"{address}/sign-in?next=/console/sessions%3Fx%3D1", timeout=10_000)
    page.get_by_label("Operator token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/console/sessions?x=1")
    expect(page.locator("#pages .count")).to_have_text("1")


def test_a_press_on_a_page_whose_session_is_gone_decides_nothing(page: Page, server: Server, address: str) -> None:
    server.write(a_request)
    expect(page.locator("#page")).to_contain_text("Closes ticket 1.")
    hide(page, hidden=True)  # it hears of nothing
    server.write(end_sessions)
    page.get_by_role("button", name="Approve").first.click()
    page.wait_for_url(f"{address}/sign-in")
    sign_in(page, address)
    expect(page.get_by_role("button", name="Approve").first).to_be_visible()


def test_a_hidden_page_asks_for_nothing_and_is_up_to_date_once_it_is_seen(page: Page, server: Server) -> None:
    page.clock.install()
    hide(page, hidden=True)
    found = asked(page)
    server.write(a_request)
    page.clock.run_for(300_000)
    assert found == []
    expect(page.locator("#page")).not_to_contain_text("Closes ticket 1.")
    hide(page, hidden=False)
    expect(page.locator("#page")).to_contain_text("Closes ticket 1.")


def test_a_laptop_that_slept_opens_its_stream_anew(page: Page) -> None:
    with page.expect_request(STREAM):  # its clock leaps a minute every few seconds
        page.evaluate("{ const now = Date.now; Date.now = () => now() + 60_000 * Math.floor(now() / 4_000); }")


def test_times_left_are_brought_up_to_date_each_minute(page: Page, address: str) -> None:
    page.clock.install()
    page.goto(address)
    expect(page.locator("#page")).to_be_visible()
    with page.expect_request(f"{address}/"):
        page.clock.run_for(65_000)


def test_a_refresh_gives_way_to_an_action_and_keeps_what_it_was_refused_for(
    page: Page, server: Server, address: str
) -> None:
    page.goto(f"{address}/console/sessions")
    page.evaluate("document.getElementById('said').innerHTML = '<p class=\"alert bad\">Not done.</p>'")
    seen = page.locator("#page").get_attribute("data-seen")
    server.write(a_request)
    expect(page.locator("#page")).not_to_have_attribute("data-seen", str(seen))
    expect(page.locator("#said")).to_have_text("Not done.")


def test_a_refresh_disturbs_neither_focus_nor_words_nor_folds(page: Page, server: Server) -> None:
    server.write(a_request)
    server.write(a_request, 2)
    first, second = page.locator("#card-request-1-1"), page.locator("#card-request-2-1")
    second.locator("summary").click()
    second.get_by_label("Reason").fill("said before")
    first.get_by_label("Reason").press_sequentially("half a wo")
    server.write(a_request, 3)
    expect(page.locator("#pages .count")).to_have_text("3", timeout=2_000)
    expect(first.get_by_label("Reason")).to_be_focused()
    expect(first.get_by_label("Reason")).to_have_value("half a wo")
    expect(second.get_by_label("Reason")).to_have_value("said before")
    expect(second.locator("details")).to_have_attribute("open", "")


def test_a_refresh_under_way_when_somebody_acts_changes_nothing_any_more(
    page: Page, server: Server, address: str
) -> None:
    server.write(a_request)
    expect(page.locator("#pages .count")).to_have_text("1")
    held: Queue[Route] = Queue()
    inbox = re.compile(rf"{address}/(\?.*)?$")
    page.route(inbox, lambda route: held.put(route) if held.empty() else route.continue_())
    server.write(a_request, 2)
    until(lambda: not held.empty(), page)
    page.get_by_role("button", name="Approve").first.click()
    expect(page.locator("#card-request-1-1")).to_contain_text("Approved.")
    expect(page.locator("#card-request-2-1")).to_be_visible()


def until(holds: Callable[[], bool], page: Page) -> None:
    """Lets the browser speak meanwhile."""
    for _ in range(200):
        if holds():
            return
        page.evaluate("new Promise(done => setTimeout(done, 20))")
    raise AssertionError


def test_a_second_person_sees_what_the_first_one_did(
    page: Page, visit: Callable[..., Page], server: Server, address: str
) -> None:
    other = visit()
    sign_in(other, address)
    server.write(a_request)
    expect(other.get_by_role("button", name="Approve").first).to_be_visible()
    page.get_by_role("button", name="Approve").first.click()
    expect(other.get_by_role("button", name="Approve")).to_have_count(0, timeout=2_000)
