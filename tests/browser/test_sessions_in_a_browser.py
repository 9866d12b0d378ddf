"""Where one is signed in, in a browser: one ends another, whose open page leads to sign-in."""

import os
from collections.abc import Callable
from queue import Queue

import pytest
from support import an_approval

if not os.environ.get("CI"):
    pytest.importorskip("playwright", reason="needs: uv sync --group browser")

from playwright.sync_api import Page, Route, expect
from support_browser import Server, sign_in

PATH = "/console/sessions"


@pytest.fixture
def other(visit: Callable[..., Page], address: str) -> Page:
    """The same person's second browser, without scripts."""
    other = visit(java_script_enabled=False)
    sign_in(other, address)
    return other


def test_one_browser_signs_another_out_whose_page_leaves_by_itself(
    page: Page, visit: Callable[..., Page], address: str
) -> None:
    second = visit()
    sign_in(second, address)
    page.goto(address + PATH)
    expect(page.locator(".lines li")).to_have_count(2)
    page.locator(".lines li", has_not_text="this browser").get_by_role("button").click()
    expect(page.locator(".lines li")).to_have_count(1)
    expect(page.locator(".lines li")).to_contain_text("this browser")
    second.wait_for_url(f"{address}/sign-in", timeout=10_000)


def test_it_works_without_scripts(page: Page, other: Page, address: str) -> None:
    other.goto(address + PATH)
    other.get_by_role("button", name="Sign out everywhere else").click()
    expect(other.locator(".lines li")).to_have_count(1)
    page.wait_for_url(f"{address}/sign-in", timeout=10_000)


def test_what_was_ended_already_is_said_on_the_page_and_back_shows_no_fragment(
    page: Page, other: Page, address: str, complaints: list[str]
) -> None:
    page.goto(address + PATH)
    other.get_by_role("button", name="Sign out", exact=True).click()
    page.locator(".lines li", has_not_text="this browser").get_by_role("button").click()
    expect(page.locator("#said")).to_contain_text("has ended already")
    assert page.url == address + PATH  # and not the address of the form
    page.reload()
    expect(page.locator("#pages")).to_be_visible()
    page.go_back()
    expect(page.locator("#pages")).to_be_visible()
    complaints[:] = [said for said in complaints if "404" not in said]


def test_a_refresh_gives_way_to_an_action(page: Page, other: Page, server: Server, address: str) -> None:
    page.goto(address + PATH)
    held: Queue[Route] = Queue()
    page.route(f"**{PATH}/end", held.put)
    page.get_by_role("button", name="Sign out everywhere else").click()
    route = held.get(timeout=10)
    found: list[str] = []
    page.on("request", lambda request: found.append(request.method + request.url.removeprefix(address)))
    with page.expect_event("console", lambda message: message.text == "heard"):
        page.evaluate(
            "void (new EventSource('/console/events').onmessage = ({data}) => data > '0-1' && console.info('heard'))"
        )
        server.write(an_approval)
    page.evaluate("new Promise(done => setTimeout(done, 50))")
    assert [one for one in found if PATH in one] == []
    route.continue_()
    expect(page.locator(".lines li")).to_have_count(1)
    expect(page.locator("#page")).to_have_attribute("data-seen", "0-1-1")


@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_has_no_barriers_and_fits_a_phone(
    page: Page, other: Page, address: str, accessible: Callable[[Page], None], width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    page.goto(address + PATH)
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_an_error_is_a_page_of_the_console_without_barriers(
    page: Page, address: str, accessible: Callable[[Page], None]
) -> None:
    page.goto(address + PATH)
    page.evaluate("document.querySelectorAll('[name=_csrf]').forEach(field => field.value = 'x')")
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_role("heading")).to_have_text("Forbidden")
    accessible(page)
    page.get_by_role("link", name="Back to where you were").click()
    page.wait_for_url(address + PATH)
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.wait_for_url(f"{address}/sign-in")
