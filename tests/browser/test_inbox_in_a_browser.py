"""The inbox in a browser: the story by mouse, by keyboard alone, and without JavaScript; and nothing that disturbs.

Without the browser group these tests are skipped, but not in CI.
"""

import os
import re
from collections.abc import Callable
from queue import Queue

import pytest
from sqlalchemy.orm import Session
from support import an_operator

if not os.environ.get("CI"):
    pytest.importorskip("playwright", reason="needs: uv sync --group browser")

from playwright.sync_api import Locator, Page, Route, expect
from support_browser import Server, sign_in

from app.runtime.instants import utc_now
from app.services import tokens

CARDS, SAID = ".card", "#said .alert"
ANA = "trg_ana_secret"


def swept(page: Page) -> tuple[Locator, Locator]:
    """The two cards, after the first visit's sweep."""
    page.get_by_role("button", name="Let it look now").click()
    page.wait_for_url("**/console/agents/**")
    page.locator("#pages").get_by_role("link", name="Inbox").click()
    expect(page.locator(CARDS)).to_have_count(2)
    return page.locator(CARDS, has_text="#1"), page.locator(CARDS, has_text="#2")


def scroll_width(page: Page) -> int:
    width: int = page.evaluate("document.documentElement.scrollWidth")
    return width


def test_the_story_by_mouse(page: Page) -> None:
    first, second = swept(page)
    expect(page).to_have_title(re.compile(r"^\(2\) Inbox"))
    first.get_by_role("button", name="Approve").click()
    expect(first).to_contain_text("Approved. It was carried out.")
    expect(page).to_have_title(re.compile(r"^\(1\) Inbox"))
    expect(page.locator("#pages .count")).to_have_text("1")
    second.get_by_label("Reason").fill("Customer is on holiday")
    second.get_by_role("button", name="Reject").click()
    expect(second).to_contain_text("Customer is on holiday")
    page.locator(".tabs").get_by_role("link", name="Approved").click()
    page.get_by_role("button", name="Undo").click()
    expect(first).to_contain_text("It was carried out; the ticket is open again.")
    page.locator(".tabs").get_by_role("link", name="Rejected").click()
    page.get_by_role("button", name="Let it ask again").click()
    expect(second).to_contain_text("Rejected, and forgotten since")


def test_the_story_by_keyboard_alone(page: Page) -> None:
    first, second = swept(page)
    page.keyboard.press("j")
    expect(first).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("a")
    expect(first).to_contain_text("Approved.")
    expect(first).to_be_focused()
    page.keyboard.press("j")
    expect(second).to_be_focused()
    page.keyboard.press("r")
    expect(second.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("a j k x ? r")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(second).to_contain_text("a j k x ? r")
    expect(second).to_be_focused()


def test_tab_reaches_every_control_of_a_card_in_order(page: Page) -> None:
    first, _ = swept(page)
    first.get_by_role("checkbox").focus()
    for role, name in (
        ("link", "Login page"),
        ("textbox", "Reason"),
        ("button", "Reject"),
        ("combobox", "How long"),
        ("button", "Approve"),
    ):
        page.keyboard.press("Tab")
        expect(first.get_by_role(role, name=name)).to_be_focused()  # type: ignore[arg-type]
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_keys_are_listed_on_the_page_with_and_without_javascript(
    page: Page, visit: Callable[..., Page], address: str
) -> None:
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    expect(page.locator("#keys")).to_contain_text("approve it")
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    plain = visit(java_script_enabled=False)
    sign_in(plain, address)
    plain.get_by_role("button", name="Keyboard").click()
    expect(plain.locator("#keys")).to_be_visible()


@pytest.mark.parametrize("java_script", [True, False])
def test_several_are_answered_together(visit: Callable[..., Page], address: str, java_script: bool) -> None:
    page = visit(java_script_enabled=java_script)
    sign_in(page, address)
    first, second = swept(page)
    bar = page.locator(".many")
    expect(bar).to_be_hidden()
    for card in (first, second):
        card.get_by_role("checkbox").check()
    expect(bar).to_be_visible()
    said = (
        page.evaluate("getComputedStyle(document.querySelector('.picked'), '::after').content") if java_script else ""
    )
    assert "counter(picked)" in said or not java_script
    bar.get_by_role("button", name="Approve").click()
    for card in (first, second):
        expect(card).to_contain_text("Approved.")
    expect(bar).to_be_hidden()


def test_all_of_it_works_without_javascript(visit: Callable[..., Page], address: str) -> None:
    page = visit(java_script_enabled=False)
    sign_in(page, address)
    first, second = swept(page)
    first.get_by_role("button", name="Approve").click()
    expect(first).to_contain_text("Approved.")
    second.get_by_label("How long the no lasts").select_option("until a date")
    second.get_by_label("Until this day").fill("2099-01-31")
    second.get_by_role("button", name="Reject").click()
    expect(second).to_contain_text("remembered until 31 Jan 2099")
    second.get_by_role("button", name="Let it ask again").click()
    expect(second).to_contain_text("forgotten since")
    page.get_by_label("Search").fill("#1")
    page.get_by_label("Search").press("Enter")
    page.locator(".tabs").get_by_role("link", name="Approved").click()
    expect(page.locator(CARDS)).to_have_count(1)


def _ana(session: Session) -> None:
    an_operator(session, name="Ana", email="ana@example.test")
    tokens.issue(session, ANA, utc_now(), name="ana", email="ana@example.test", scopes=[], expires_at=None)


def test_of_two_operators_at_one_card_the_second_sees_who_was_first(
    page: Page, visit: Callable[..., Page], server: Server, address: str, complaints: list[str]
) -> None:
    first, _ = swept(page)
    server.write(_ana)
    other = visit()
    other.route("**/console/events", lambda route: route.abort())  # her page is a moment behind
    other.route("**/console/changes", lambda route: route.fulfill(status=304))
    sign_in(other, address, ANA)
    expect(other.locator(CARDS)).to_have_count(2)
    first.get_by_role("button", name="Reject").click()
    expect(first).to_contain_text("Rejected.")
    other.locator(CARDS, has_text="#1").get_by_role("button", name="Approve").click()
    expect(other.locator(SAID)).to_contain_text("This request is rejected by Ops On-Call already. Nothing was decided.")
    expect(first).to_contain_text("Rejected. The agent will not ask again.")
    complaints.clear()  # of the stream that was cut


def test_back_and_reload_show_whole_pages_and_decide_nothing(page: Page, address: str) -> None:
    first, second = swept(page)
    first.get_by_role("button", name="Approve").click()
    expect(first).to_contain_text("Approved.")
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.reload()
    expect(page.locator("header.bar")).to_be_visible()
    expect(second.get_by_role("button", name="Approve")).to_be_visible()
    page.locator(".tabs").get_by_role("link", name="Rejected").click()
    expect(page.locator(".tabs [aria-current]")).to_have_text("Rejected")
    page.wait_for_url("**/?tab=rejected")
    page.go_back()
    expect(page.locator("header.bar")).to_be_visible()
    expect(first).to_contain_text("Approved.")
    page.go_back()
    expect(page.locator("header.bar")).to_be_visible()
    assert posts == []


def test_a_card_that_was_answered_moves_none_under_the_pointer(page: Page) -> None:
    first, second = swept(page)
    button = first.get_by_role("button", name="Approve")
    box = button.bounding_box()
    assert box
    page.mouse.dblclick(box["x"] + 20, box["y"] + 10)
    expect(first).to_contain_text("Approved.")
    expect(second.get_by_role("button", name="Approve")).to_be_visible()


def test_enter_in_the_reason_decides_nothing(page: Page) -> None:
    first, _ = swept(page)
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    first.get_by_label("Reason").press("Enter")
    first.get_by_role("checkbox").check()
    page.locator(".many").get_by_label("Reason").press("Enter")
    page.wait_for_timeout(300)
    assert posts == []


def test_every_button_rests_while_an_action_is_under_way(page: Page) -> None:
    first, second = swept(page)
    held: Queue[Route] = Queue()
    page.route("**/approve", held.put)
    first.get_by_role("button", name="Approve").click()
    expect(second.get_by_role("button", name="Approve")).to_be_disabled()
    held.get().continue_()
    expect(first).to_contain_text("Approved.")
    expect(second.get_by_role("button", name="Approve")).to_be_enabled()


def test_the_page_has_no_barriers_and_never_scrolls_sideways(
    page: Page, accessible: Callable[[Page], None], visit: Callable[..., Page], address: str
) -> None:
    accessible(page)
    first, second = swept(page)
    first.get_by_role("checkbox").check()
    second.get_by_text("The exact call").click()
    accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    assert scroll_width(page) == 360
    page.locator(".many").get_by_role("button", name="Reject").click()
    expect(first).to_contain_text("Rejected.")
    accessible(page)
    assert scroll_width(page) == 360
    door = visit(viewport={"width": 360, "height": 740})
    door.goto(address)
    accessible(door)
    assert scroll_width(door) == 360
