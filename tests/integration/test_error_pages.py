"""Errors as a browser sees them: pages in the console's frame, that say what happened and where to go from there."""

from typing import Any

import httpx
import pytest
from support_console import LOOKER_COOKIE, OTHER_COOKIE, House, csrf_of, words

from app.web.openapi import document
from app.web.strict import PATTERNS

pytestmark = pytest.mark.anyio
HALT, HTMX = "/console/halt", {"hx-request": "true", "hx-current-url": "http://localhost/console/sessions?x=1"}


def framed(answer: httpx.Response) -> bool:
    """Whether it is a whole page of the console, of which htmx finds its part."""
    return '<main id="page"' in answer.text and 'id="pages"' in answer.text and "</html>" in answer.text


@pytest.mark.parametrize("headers", [{}, HTMX, {"accept": "*/*"}], ids=["browser", "htmx", "form alone"])
async def test_a_page_of_an_earlier_sign_in_is_told_so_and_led_back(house: House, headers: dict[str, str]) -> None:
    headers = {"referer": "http://localhost/console/sessions?x=1"} | headers
    answer = await house.browser.post(HALT, data={"_csrf": "0" * 64}, headers=headers)
    assert (answer.status_code, framed(answer)) == (403, True)
    assert "This page belongs to an earlier sign-in. Nothing was executed. Reload it and try again." in answer.text
    assert '<a class="button" href="/console/sessions?x=1">Back to where you were</a>' in answer.text
    assert "Ops &lt;On-Call&gt;" in answer.text
    assert csrf_of(answer.text) == csrf_of(await house.page())
    assert not await halted(house)


async def halted(house: House) -> bool:
    return "halted" in (await house.page())


@pytest.mark.parametrize(
    "referer", ["", "https://evil.example/console", "http://localhost//evil.example", "http://localhost/\\evil.example"]
)
async def test_no_other_site_is_led_back_to(house: House, referer: str) -> None:
    answer = await house.browser.post(HALT, headers={"referer": referer})
    assert "Back to where you were" not in answer.text
    assert "evil" not in answer.text


async def test_somebody_who_may_only_look_is_told_so_on_a_page(house: House) -> None:
    browser = house.signed_in(LOOKER_COOKIE)
    token = csrf_of((await browser.get("/")).text)
    answer = await browser.post(HALT, data={"_csrf": token})
    assert (answer.status_code, framed(answer)) == (403, True)
    assert "Lou (operator:3) may not do this. Nothing was executed. Ask somebody who may operate." in words(answer.text)


async def test_what_a_form_says_too_much_is_told_in_words(house: House) -> None:
    answer = await house.post("/console/approvals/nope/reject", reason="x" * 1001)
    assert (answer.status_code, framed(answer)) == (422, True)
    assert "reason : Expected at most 1000 characters" in words(answer.text)
    answer = await house.post("/console/approvals/nope/reject", reason="\0")
    assert "reason : Expected text without the character U+0000" in words(answer.text)


async def test_a_misfit_is_told_in_words_to_programs_too(house: House) -> None:
    token = csrf_of(await house.page())
    headers = {"accept": "*/*", "x-csrf-token": token}
    answer = await house.browser.post("/tickets", json={"title": "a\nb"}, headers=headers)
    assert answer.json()["errors"] == [{"key": "$.title", "message": "Expected one line that is not blank"}]
    answer = await house.browser.get("/tickets?inactive_since=x", headers=headers)
    [fault] = answer.json()["errors"]
    assert fault["message"] == "Expected a time in UTC, as 2026-11-29T17:00:00.000Z"


def test_every_pattern_of_the_api_has_its_words(house: House) -> None:
    found = set(patterns(document(house.system.litestar)))
    assert found
    assert found <= set(PATTERNS)


def patterns(node: Any) -> Any:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        for key, value in node.items():
            yield from patterns(value if key != "not" else None)  # of a path: what it may not be
    elif isinstance(node, list):
        for value in node:
            yield from patterns(value)


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nope", 404), ("GET", HALT, 405)])
async def test_what_is_not_there_is_a_page_for_browsers_and_json_for_others(
    house: House, method: str, path: str, status: int
) -> None:
    answer = await house.browser.request(method, path)
    assert (answer.status_code, "To the inbox" in answer.text, '<main id="page"' in answer.text) == (status, True, True)
    assert "Nothing was executed" in answer.text
    answer = await house.browser.request(method, path, headers={"accept": "*/*"})
    assert (answer.headers["content-type"], answer.json()["status"]) == ("application/problem+json", status)


async def test_a_bug_is_a_page_with_a_trace_that_asks_the_database_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError("hunter2")

    monkeypatch.setattr("routes.console.sessions._page", fail)
    answer = await house.browser.get("/console/sessions")
    assert (answer.status_code, framed(answer), house.spent) == (500, True, 1)
    assert "Something went wrong on our side." in answer.text
    assert "Trace <code>trace</code>" in answer.text
    assert "hunter2" not in answer.text


async def test_an_error_page_is_not_refreshed_away_and_its_forms_address_is_not_kept(house: House) -> None:
    answer = await house.browser.post(HALT, headers=HTMX)
    assert 'data-refresh=""' in answer.text
    assert answer.headers["hx-push-url"] == "false"
    assert "hx-push-url" not in (await house.browser.get("/")).headers


async def test_a_program_that_sends_a_form_to_the_api_gets_json(house: House) -> None:
    token = csrf_of(await house.page())
    answer = await house.browser.post("/tickets", data={"_csrf": token, "title": "x"}, headers={"accept": "*/*"})
    assert (answer.status_code, answer.headers["content-type"]) == (415, "application/problem+json")


async def test_another_persons_page_does_nothing(house: House) -> None:
    others = csrf_of((await house.signed_in(OTHER_COOKIE).get("/")).text)
    answer = await house.browser.post(HALT, data={"_csrf": others})
    assert (answer.status_code, await halted(house)) == (403, False)


@pytest.mark.parametrize("path", ["/", "/console/sessions", "/sign-in", "/nope", "/schema"])
async def test_every_page_carries_the_policy(house: House, path: str) -> None:
    headers = (await house.browser.get(path)).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["object-src"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["referrer-policy"] == "same-origin"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
