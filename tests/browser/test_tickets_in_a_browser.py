"""The pages about tickets in a browser: by mouse, with JavaScript off, on a small screen, without barriers.

Without the browser group these tests are skipped, but not in CI.
"""

import os
from collections.abc import Callable

import pytest
from support import OPERATOR

if not os.environ.get("CI"):
    pytest.importorskip("playwright", reason="needs: uv sync --group browser")

from playwright.sync_api import Page, expect
from support_browser import Server, sign_in

from app.runtime.instants import utc_now
from app.schemas import EditTicket
from app.services import tickets

LIST, ONE = "/console/tickets", "/console/tickets/1"
Visit = Callable[..., Page]


@pytest.fixture(params=["mouse", "no script"])
def person(request: pytest.FixtureRequest, visit: Visit, address: str) -> Page:
    """Somebody who has signed in, with and without JavaScript."""
    page = visit(java_script_enabled=request.param == "mouse")
    sign_in(page, address)
    return page


def story(page: Page) -> None:
    """A ticket is opened, found, talked about, changed, closed and reopened."""
    page.get_by_role("link", name="Tickets", exact=True).click()
    page.get_by_role("link", name="New ticket").click()
    page.get_by_label("Title").fill("Printer on fire")
    page.get_by_label("What is it about?").fill("It burns.\nReally.")
    page.get_by_label("Requester").fill("Chidi")
    page.get_by_label("Priority").select_option("urgent")
    page.get_by_role("button", name="Open the ticket").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Printer on fire")

    page.get_by_role("link", name="Tickets", exact=True).first.click()
    page.get_by_label("Search").fill("print")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".tickets li")).to_have_count(1)
    expect(page.locator(".tickets li")).to_contain_text("waits for our reply")
    page.get_by_role("link", name="Printer on fire").click()

    page.get_by_label("Comment").fill("On our way.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".history .said")).to_contain_text("On our way.")
    page.get_by_label("Assignee").fill("Ana")
    page.get_by_role("button", name="Save changes").click()
    expect(page.locator(".history .edited")).to_contain_text("changed assignee to Ana")
    page.get_by_role("button", name="Close ticket").click()
    expect(page.locator(".history .closed")).to_contain_text("closed the ticket")
    page.get_by_role("button", name="Reopen ticket").click()
    expect(page.locator(".history .reopened")).to_be_visible()
    expect(page.get_by_role("button", name="Close ticket")).to_be_visible()


def test_the_story_of_a_ticket(person: Page) -> None:
    story(person)


def test_what_was_typed_survives_a_refusal(person: Page, server: Server) -> None:
    person.goto(f"{server.address}{ONE}")
    person.get_by_label("Title").fill("Login is broken")
    server.write(tickets.edit, 1, EditTicket(title="Login fails"), by=OPERATOR, now=utc_now())
    person.get_by_role("button", name="Save changes").click()
    expect(person.locator("#said")).to_contain_text("not as you saw it. Nothing was changed.")
    expect(person.locator(".moved")).to_contain_text("Login fails")
    expect(person.get_by_label("Title")).to_have_value("Login is broken")
    person.get_by_role("button", name="Save changes").click()
    expect(person.get_by_role("heading", level=1)).to_contain_text("Login is broken")
    expect(person).to_have_url(f"{server.address}{ONE}")


def test_a_waiting_request_is_a_click_away(person: Page, address: str) -> None:
    person.get_by_role("link", name="Agent").click()
    person.get_by_role("button", name="Run sweep").click()
    person.goto(f"{address}{ONE}")
    person.get_by_role("link", name="Answer it in the inbox").click()
    expect(person).to_have_url(f"{address}/?q=%231")
    expect(person.locator(".card")).to_have_count(1)
    assert person.evaluate("[...document.styleSheets].some(one => one.href.includes('inbox.css'))")


def test_a_form_that_was_typed_in_stays_as_it_is_while_the_page_follows(page: Page, server: Server) -> None:
    page.goto(f"{server.address}{ONE}")
    page.get_by_label("Title").fill("Login is broken")
    server.write(tickets.edit, 1, EditTicket(title="Login fails"), by=OPERATOR, now=utc_now())
    expect(page.get_by_role("heading", level=1)).to_contain_text("Login fails")
    expect(page.get_by_label("Title")).to_have_value("Login is broken")
    page.get_by_role("button", name="Save changes").click()
    expect(page.locator(".moved")).to_contain_text("Login fails")
    server.write(tickets.edit, 1, EditTicket(title="Login is gone"), by=OPERATOR, now=utc_now())
    expect(page.get_by_role("heading", level=1)).to_contain_text("Login is gone")
    expect(page.get_by_label("Title")).to_have_value("Login is broken")
    expect(page.locator(".moved")).to_be_visible()


def test_a_half_written_comment_survives_an_edit(page: Page, address: str) -> None:
    page.goto(f"{address}{ONE}")
    page.get_by_label("Comment").fill("half a wo")
    page.get_by_label("Assignee").fill("Ana")
    page.get_by_role("button", name="Save changes").click()
    expect(page.locator(".history .edited")).to_be_visible()
    expect(page.get_by_label("Comment")).to_have_value("half a wo")


@pytest.mark.parametrize("path", [LIST, f"{LIST}?text=zebra", f"{LIST}?sort=random", ONE, f"{LIST}/new"])
def test_no_page_has_barriers_or_scrolls_sideways(
    page: Page, address: str, path: str, accessible: Callable[[Page], None]
) -> None:
    page.goto(f"{address}{path}")
    accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    accessible(page)
