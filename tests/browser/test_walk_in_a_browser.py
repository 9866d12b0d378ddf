"""From page to page by htmx, which takes only #page of the next one: each is as if it had been loaded by itself."""

import os
import re
from collections.abc import Callable

import pytest

if not os.environ.get("CI"):
    pytest.importorskip("playwright", reason="needs: uv sync --group browser")

from playwright.sync_api import Page, expect

LOOK = """[...document.querySelectorAll("#page *, #pages a")].filter((one) => one.checkVisibility()).map((one) => {
    const {top, left, width, height} = one.getBoundingClientRect();
    return [one.tagName, top + scrollY, left, width, height, getComputedStyle(one).color].join(" ");
})"""


def test_pages_reached_by_htmx_look_as_if_loaded_and_have_no_barriers(
    page: Page, accessible: Callable[[Page], None]
) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.locator("#pages").get_by_role("link", name="Agent").click()
    page.get_by_role("button", name="Run sweep").click()
    expect(page.get_by_role("status").first).to_contain_text("Swept: 2 stale tickets")
    page.locator("#pages").get_by_role("link", name="Inbox").click()
    expect(page.locator(".card")).to_have_count(2)
    page.evaluate("window.first = true")

    def arrived(title: str, current: str) -> None:
        expect(page).to_have_title(re.compile(f"^{re.escape(title)} . Triager$"))
        expect(page.locator("#pages [aria-current=page]")).to_contain_text(current)
        expect(page.locator("#page")).to_be_focused()
        assert page.evaluate("scrollY") == 0
        assert page.evaluate("window.first"), "it was loaded anew"
        here = page.evaluate(LOOK)
        other = page.context.new_page()
        other.emulate_media(reduced_motion="reduce")
        other.goto(page.url)
        assert other.evaluate(LOOK) == here, page.url
        other.close()
        accessible(page)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.evaluate("scrollTo(0, 600)")

    page.get_by_role("link", name="Login page 500s on Safari").click()
    arrived("(2) #1 Login page 500s on Safari", "Tickets")
    page.locator("#pages").get_by_role("link", name="Agent").click()
    arrived("(2) Triager", "Agent")
    page.get_by_role("link", name="Ticket by ticket").click()
    arrived("(2) Sweep 1", "Agent")
    page.locator("#pages").get_by_role("link", name="Tickets").click()
    arrived("(2) Tickets", "Tickets")
    page.locator("#pages").get_by_role("link", name="Inbox").click()
    arrived("(2) Inbox", "Inbox")


def test_what_was_typed_on_one_page_is_not_found_on_another(page: Page, address: str) -> None:
    page.goto(f"{address}/console/tickets/3")
    page.get_by_label("Comment").fill("About the third")
    page.locator("#pages").get_by_role("link", name="Tickets").click()
    page.get_by_role("link", name="Login page 500s on Safari").click()
    expect(page).to_have_title(re.compile("^#1 Login page 500s on Safari"))
    expect(page.get_by_label("Comment")).to_have_value("")
