"""Where somebody is signed in: what the page lists, and what it lets them end."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from support_console import COOKIE, LOOKER_COOKIE, OTHER_COOKIE, House, csrf_of, words

from app.services import sessions, tokens
from db.schema import SessionRow

pytestmark = pytest.mark.anyio
PAGE, END, PHONE = "/console/sessions", "/console/sessions/end", "p" * 43


@pytest.fixture
async def phone(house: House) -> str:
    """The first person's second session, opened with a token, three hours later; its id."""
    house.clock.at += timedelta(hours=3)
    await house.system.db.write(_open, house)
    return tokens.hashed(PHONE)


def _open(session: Session, house: House) -> None:
    given = {"name": "my <phone>", "email": "c@example.test", "scopes": [], "expires_at": None}
    tokens.issue(session, "trg_t1_secret", house.clock(), **given)  # type: ignore[arg-type]
    opened = {"user_id": 1, "token_id": "t1", "ttl_s": 3600, "old": None}
    sessions.start(session, tokens.hashed(PHONE), house.clock(), **opened)


async def left(house: House) -> set[str]:
    return await house.system.db.read(lambda session: set(session.execute(select(SessionRow.id)).scalars()))


async def test_the_page_lists_where_one_is_signed_in_and_marks_this_browser(house: House, phone: str) -> None:
    html = await house.page(PAGE)
    items = [words(item) for item in html.split("<li ")[1:]]
    assert len(items) == 2
    assert "my &lt;phone&gt; signed in just now , last seen just now Sign out there" in items[0]
    assert "By a one-use link signed in 3 hours ago" in items[1]
    assert "this browser" in items[1]
    assert "this browser" not in items[0]
    assert "<phone>" not in html


async def test_it_costs_three_statements(house: House, phone: str) -> None:
    await house.page(PAGE)  # which also notes that it was seen
    await house.page(PAGE)
    assert house.spent == 3


async def test_others_sessions_and_dead_ones_are_not_listed(house: House, phone: str) -> None:
    house.clock.at += timedelta(hours=1)
    html = await house.page(PAGE)
    assert html.count("<li ") == 1
    assert tokens.hashed(OTHER_COOKIE) not in html
    assert "everywhere else" not in html


async def test_ending_one_ends_it_on_the_next_request(house: House, phone: str) -> None:
    assert (await house.signed_in(PHONE).get(PAGE)).status_code == 200
    html = await house.press(END, session=phone)
    assert html.count("<li ") == 1
    gone = await house.signed_in(PHONE).get(PAGE)
    assert (gone.status_code, gone.headers["location"]) == (303, f"/sign-in?next={PAGE}")


async def test_ending_everywhere_else_leaves_this_one_and_other_people(house: House, phone: str) -> None:
    await house.press(END)
    assert await left(house) == {tokens.hashed(cookie) for cookie in (COOKIE, OTHER_COOKIE, LOOKER_COOKIE)}


async def test_nobody_ends_somebody_elses(house: House, phone: str) -> None:
    before = await left(house)
    for session in (tokens.hashed(OTHER_COOKIE), "nope", "%"):
        answer = await house.post(END, session=session)
        assert (answer.status_code, "has ended already" in answer.text) == (404, True)
    assert await left(house) == before


async def test_ending_this_one_is_signing_out(house: House) -> None:
    answer = await house.post(END, session=tokens.hashed(COOKIE))
    assert answer.headers["location"] == PAGE
    assert (await house.browser.get(PAGE)).headers["location"] == f"/sign-in?next={PAGE}"


async def test_somebody_who_may_only_look_may_still_sign_out_elsewhere(house: House) -> None:
    browser = house.signed_in(LOOKER_COOKIE)
    token = csrf_of((await browser.get(PAGE)).text)
    assert (await browser.post(END, data={"_csrf": token})).status_code == 303


async def test_no_get_and_no_page_of_an_earlier_sign_in_ends_anything(house: House, phone: str) -> None:
    before = await left(house)
    assert (await house.browser.get(f"{END}?session={phone}")).status_code == 405
    assert (await house.browser.post(END, data={"session": phone, "_csrf": "0" * 64})).status_code == 403
    assert await left(house) == before


async def test_the_ids_on_the_page_let_nobody_in(house: House, phone: str) -> None:
    for shown in re.findall(r'name="session" value="([^"]+)"', await house.page(PAGE)):
        assert (await house.signed_in(shown).get(PAGE)).status_code == 303
