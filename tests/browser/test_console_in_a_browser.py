"""What only a browser can show: scripts under our policy, swaps that disturb nobody, keys, small and dark screens.

Without the browser group these tests are skipped, but not in CI.
"""

import os
from queue import Queue

import pytest
from support_browser import sign_in

if not os.environ.get("CI"):
    pytest.importorskip("playwright", reason="needs: uv sync --group browser")

from playwright.sync_api import Browser, Page, Route, expect

CARDS, SAID = ".card", "#said .alert"


def sweep(page: Page) -> None:
    page.get_by_role("button", name="Run sweep").click()
    expect(page.locator(CARDS)).to_have_count(2)


def refreshed(page: Page) -> None:
    """Wait for the next refresh, until it is in the page."""
    with page.expect_response("**/console/panels") as response:
        pass
    response.value.finished()
    page.evaluate("new Promise(requestAnimationFrame)")


def test_an_approved_ticket_is_closed_before_the_operators_eyes(page: Page) -> None:
    sweep(page)
    expect(page).to_have_title("(2) Triager")
    page.locator(CARDS, has_text="Ticket #1").get_by_role("button", name="Approve").click()
    expect(page.locator(SAID)).to_contain_text("Approved.")
    expect(page.locator(".answered")).to_contain_text("carried out by the agent")
    expect(page.locator(".tickets li", has_text="Login page 500s on Safari")).to_contain_text("closed")
    expect(page).to_have_title("(1) Triager")


def test_a_rejection_keeps_its_reason_and_leaves_the_other_card(page: Page) -> None:
    sweep(page)
    card = page.locator(CARDS, has_text="Ticket #2")
    card.get_by_label("Reason").fill("Customer is on holiday")
    card.get_by_role("button", name="Reject").click()
    expect(page.locator(".answered")).to_contain_text("Customer is on holiday")
    expect(page.locator(CARDS)).to_have_count(1)
    expect(page.locator(CARDS)).to_contain_text("Ticket #1")


def test_a_refresh_keeps_focus_words_and_what_is_unfolded(page: Page) -> None:
    sweep(page)
    first, second = page.locator(CARDS).all()
    second.get_by_text("The exact call").click()
    second.get_by_label("Reason").fill("said before")
    second.get_by_label("A no lasts").select_option("until a date")
    second.get_by_label("Until this day").fill("2027-01-31")
    first.get_by_label("Reason").press_sequentially("half a wo")
    refreshed(page)
    refreshed(page)
    expect(first.get_by_label("Reason")).to_be_focused()
    expect(first.get_by_label("Reason")).to_have_value("half a wo")
    expect(second.get_by_label("Reason")).to_have_value("said before")
    expect(second.get_by_label("A no lasts")).to_have_value("date")
    expect(second.get_by_label("Until this day")).to_have_value("2027-01-31")
    expect(second.locator("code").first).to_be_visible()


def test_enter_in_the_reason_decides_nothing(page: Page) -> None:
    sweep(page)
    page.get_by_role("textbox").first.press("Enter")
    refreshed(page)
    expect(page.locator(CARDS)).to_have_count(2)


def test_the_page_stays_where_it_was_scrolled_to(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 320})
    sweep(page)
    page.evaluate("scrollTo(0, 150)")
    page.locator(CARDS).last.get_by_role("button", name="Approve").dispatch_event("click")  # does not scroll to it
    expect(page.locator(SAID)).to_be_in_viewport()
    assert page.evaluate("scrollY") == 150


def test_every_button_rests_while_an_action_is_under_way(page: Page) -> None:
    sweep(page)
    held: Queue[Route] = Queue()
    page.route("**/console/sweep", held.put)
    page.get_by_role("button", name="Run sweep").click()
    for button in page.locator("button:visible").all():
        expect(button).to_be_disabled()
    expect(page.get_by_text("Sweeping…")).to_be_visible()
    held.get().continue_()
    for button in page.locator("button:visible").all():
        expect(button).to_be_enabled()


def test_all_of_it_works_without_javascript(chromium: Browser, address: str) -> None:
    page = chromium.new_context(java_script_enabled=False).new_page()
    sign_in(page, address)
    sweep(page)
    page.locator(CARDS, has_text="Ticket #1").get_by_role("button", name="Approve").click()
    expect(page.locator(SAID)).to_contain_text("Approved.")
    expect(page.locator(".answered")).to_contain_text("Ticket #1")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading")).to_have_text("Sign in to Triager")


def test_a_no_for_a_while_and_ask_again_work_without_javascript(chromium: Browser, address: str) -> None:
    page = chromium.new_context(java_script_enabled=False).new_page()
    sign_in(page, address)
    sweep(page)
    card = page.locator(CARDS, has_text="Ticket #1")
    card.get_by_label("A no lasts").select_option("until a date")
    card.get_by_label("Until this day").fill("2099-01-31")
    card.get_by_role("button", name="Reject").click()
    expect(page.locator(SAID)).to_contain_text("may ask again after that")
    expect(page.locator(".answered")).to_contain_text("remembered until 31 Jan 2099")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(SAID)).to_contain_text("The agent may ask again.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_small_screen_never_scrolls_sideways(page: Page, scheme: str) -> None:
    sweep(page)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert dark == (scheme == "dark")


def test_the_keyboard_reaches_approve_and_shows_where_it_is(page: Page) -> None:
    sweep(page)
    page.get_by_role("textbox").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Approve").first).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator(CARDS)).to_have_count(1)
