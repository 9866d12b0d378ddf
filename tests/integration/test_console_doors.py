"""Who gets in to decide: sessions, tokens and the page's own token together; sessions that ended under an open page."""

from itertools import product
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy import delete
from sqlalchemy.orm import Session
from support import an_approval
from support_console import COOKIE, OTHER_COOKIE, House, csrf_of
from test_auth_sign_in import csrf_in

from app.cli import serving
from app.services import approval_list, tokens
from db.schema import SessionRow

pytestmark = pytest.mark.anyio
TOKEN = "trg_t1_secret"  # noqa: S105
APPROVE = "/console/approvals/request-1-1/approve"
BEARERS = {"none": {}, "good": {"authorization": f"Bearer {TOKEN}"}, "junk": {"authorization": "Bearer junk"}}


@pytest.fixture
async def asked(house: House) -> House:
    """Somebody is asked, and the first person has a token too."""
    await house.system.db.write(an_approval)
    await house.system.db.write(_token, house)
    return house


def _token(session: Session, house: House) -> None:
    given: dict[str, Any] = {"name": "t", "email": "c@example.test", "scopes": [], "expires_at": None}
    tokens.issue(session, TOKEN, house.clock(), **given)


async def status(house: House, request_id: str = "request-1-1") -> str:
    [card] = await house.system.db.read(approval_list.named, [request_id], house.clock())
    return card.request.status


async def mark(house: House, cookie: str = COOKIE) -> str:
    """What the forms of this person's pages carry."""
    return csrf_of((await house.signed_in(cookie).get("/")).text)


def _end_sessions(session: Session) -> None:
    session.execute(delete(SessionRow))


@pytest.mark.parametrize("bearer", list(BEARERS))
@pytest.mark.parametrize("session", [False, True])
async def test_an_answer_needs_a_session_with_its_own_mark_or_a_bearer_alone(
    asked: House, session: bool, bearer: str
) -> None:
    marks = {"none": "", "own": await mark(asked, COOKIE), "other's": await mark(asked, OTHER_COOKIE)}
    for number, (whose, way) in enumerate(product(marks, ("form", "multipart", "header")), 2):
        request_id = await asked.system.db.write(an_approval, number)
        answer = await approve(asked, request_id, marks[whose], way, BEARERS[bearer], session=session)
        let_in = bearer != "junk" and (whose == "own" if session else bearer == "good")
        assert (await status(asked, request_id) == "approved") == let_in, (whose, way)
        if bearer == "junk":
            assert answer.status_code == 401
        elif session and not let_in:
            assert (answer.status_code, "Reload it and try again" in answer.text) == (403, True)
        else:
            assert (answer.status_code, answer.headers["location"] == "/sign-in") == (303, not let_in)


async def approve(
    house: House, request_id: str, mark: str, way: str, bearer: dict[str, str], *, session: bool
) -> httpx.Response:
    browser = house.signed_in(COOKIE)
    if not session:
        browser.cookies.clear()
    path = f"/console/approvals/{request_id}/approve"
    if way == "header":
        return await browser.post(path, headers=bearer | {"x-csrf-token": mark}, data={"reason": "ok"})
    fields = {"reason": "ok"} | ({"_csrf": mark} if mark else {})
    if way == "form":
        return await browser.post(path, headers=bearer, data=fields)
    return await browser.post(path, headers=bearer, files={name: (None, value) for name, value in fields.items()})


async def test_a_second_sign_in_leaves_the_first_tab_a_readable_answer_and_a_reload_heals_it(asked: House) -> None:
    browser = asked.browser
    first_tab = {"_csrf": await mark(asked)}
    door = await browser.get("/sign-in")
    await browser.post("/sign-in", data={"token": TOKEN, "_csrf": csrf_in(door.text)})
    refused = await browser.post(APPROVE, data=first_tab, headers={"referer": "http://localhost/?tab=waiting"})
    assert (refused.status_code, await status(asked)) == (403, "pending")
    assert "This page belongs to an earlier sign-in" in refused.text
    assert 'href="/?tab=waiting"' in refused.text
    again = csrf_of((await browser.get("/?tab=waiting")).text)
    assert (await browser.post(APPROVE, data={"_csrf": again})).status_code == 303
    assert await status(asked) == "approved"


HTMX = {"hx-request": "true", "hx-current-url": "http://localhost/console/tickets?status=open"}
NEXT = "/sign-in?next=/console/tickets%3Fstatus%3Dopen"


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/console/tickets?status=open"), ("POST", APPROVE)])
async def test_a_page_whose_session_ended_is_told_to_leave_and_gets_no_sign_in_form(
    asked: House, method: str, path: str
) -> None:
    form = {"_csrf": await mark(asked)}
    await asked.system.db.write(_end_sessions)
    answer = await asked.browser.request(method, path, data=form if method == "POST" else None, headers=HTMX)
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, NEXT)
    assert 'name="token"' not in answer.text
    assert await status(asked) == "pending"


async def test_what_a_live_page_asks_is_refused_plainly_once_its_session_ended(asked: House) -> None:
    await asked.system.db.write(_end_sessions)
    for path in ("/console/changes", "/console/events"):
        assert (await asked.browser.get(path)).status_code == 401


async def test_a_form_of_an_ended_session_leads_over_sign_in_to_a_page_and_decides_nothing(asked: House) -> None:
    form = {"_csrf": await mark(asked)}
    await asked.system.db.write(_end_sessions)
    refused = await asked.browser.post(APPROVE, data=form, headers={"referer": f"http://localhost{APPROVE}"})
    assert refused.status_code == 303
    landed = await sign_in(asked.browser, refused.headers["location"])
    assert (landed.status_code, landed.url.path) == (200, "/")
    assert await status(asked) == "pending"


async def sign_in(browser: httpx.AsyncClient, address: str) -> httpx.Response:
    door = await browser.get(address)
    wanted = parse_qs(urlsplit(address).query).get("next", ["/"])[0]
    fields = {"token": TOKEN, "next": wanted, "_csrf": csrf_in(door.text)}
    return await browser.post(address.partition("?")[0], data=fields, follow_redirects=True)


@pytest.mark.parametrize("peer", ["10.0.0.1", "192.0.2.9"])
@pytest.mark.parametrize("proto", ["http", "https"])
async def test_only_a_trusted_peer_says_how_a_request_came_and_no_cookie_depends_on_it(
    asked: House, peer: str, proto: str
) -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["scheme"])
        await asked.system.litestar(scope, receive, send)

    config = serving.config(app, trusted_proxies=["10.0.0.1"])
    config.load()
    transport = httpx.ASGITransport(config.loaded_app, client=(peer, 1))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        browser.headers["x-forwarded-proto"] = proto
        door = await browser.get("/sign-in")
        answer = await browser.post("/sign-in", data={"token": TOKEN, "_csrf": csrf_in(door.text)})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert "Secure" not in answer.headers["set-cookie"]  # as SECURE_COOKIES says
        assert (await browser.get("/")).status_code == 200
    assert set(seen) == {proto if peer == "10.0.0.1" else "http"}
