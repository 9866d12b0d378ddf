"""Whoever comes with a session cookie must show its token; whoever comes with a bearer alone need not."""

from datetime import datetime

import httpx
import pytest
from support_auth import HOST, OTHER_TOKEN, TOKEN, House
from test_auth_sign_in import COOKIE, csrf_in, sign_in

from app.auth import csrf
from db.engine import Database

pytestmark = pytest.mark.anyio
GOOD, JUNK = {"Authorization": f"Bearer {TOKEN}"}, {"Authorization": "Bearer junk"}


@pytest.fixture
async def house(database: Database, now: datetime) -> House:
    house = House(database, now)
    await house.add_people()
    return house


async def a_session(house: House, token: str = TOKEN) -> tuple[httpx.AsyncClient, str]:
    client = house.browser()
    await sign_in(client, token)
    return client, (await client.get("/")).text


@pytest.mark.parametrize(
    ("cookie", "bearer", "token", "status"),
    [
        (False, {}, "none", 401),
        (False, {}, "own", 401),
        (False, GOOD, "none", 200),
        (False, GOOD, "other's", 200),
        (False, JUNK, "none", 401),
        (True, {}, "none", 403),
        (True, {}, "own", 200),
        (True, {}, "other's", 403),
        (True, GOOD, "none", 403),
        (True, GOOD, "own", 200),
        (True, GOOD, "other's", 403),
        (True, JUNK, "none", 401),
        (True, JUNK, "own", 401),
    ],
)
@pytest.mark.parametrize("way", ["header", "form", "multipart"])
async def test_cookie_bearer_and_token(
    house: House, cookie: bool, bearer: dict[str, str], token: str, status: int, way: str
) -> None:
    client, own = await a_session(house)
    _, others = await a_session(house, OTHER_TOKEN)
    if not cookie:
        client = house.browser()
    fields = {"none": {}, "own": {"_csrf": own}, "other's": {"_csrf": others}}[token]
    if way == "header":
        headers = bearer | ({"x-csrf-token": fields["_csrf"]} if fields else {})
        answer = await client.post("/operate", headers=headers, json={"a": 1})
    elif way == "form":
        answer = await client.post("/operate", headers=bearer, data={"a": "1"} | fields)
    else:
        parts = {name: (None, value) for name, value in ({"a": "1"} | fields).items()}
        answer = await client.post("/operate", headers=bearer, files=parts)
    assert answer.status_code == status
    if status == 200 and way != "header":
        assert answer.json() == {"a": "1"} | fields


@pytest.mark.parametrize("token", ["", "caf\xe9", "\x00", "0" * 64])
async def test_a_token_that_is_nobodys_is_a_403(house: House, token: str) -> None:
    client, _ = await a_session(house)
    assert (await client.post("/operate", data={"_csrf": token})).status_code == 403
    assert (await client.post("/operate", headers={"x-csrf-token": token.encode()})).status_code == 403  # type: ignore[dict-item]


async def test_of_a_doubled_field_the_first_counts(house: House) -> None:
    client, own = await a_session(house)
    assert (await client.post("/operate", data={"_csrf": ["wrong", own]})).status_code == 403


def test_a_file_in_a_fields_place_is_no_text() -> None:
    assert csrf.text_field({"_csrf": object()}, "_csrf") == ""


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": HOST}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "https://triager.test.evil.example"}, 403),
        ({"Origin": "https://triager.test:8443"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": HOST}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ],
)
async def test_another_sites_page_is_refused_even_with_the_token(
    house: House, headers: dict[str, str], status: int
) -> None:
    client, own = await a_session(house)
    answer = await client.post("/operate", headers=headers | {"x-csrf-token": own})
    assert answer.status_code == status


async def test_reading_across_sites_is_no_offence(house: House) -> None:
    client, _ = await a_session(house)
    assert (await client.get("/", headers={"Sec-Fetch-Site": "cross-site"})).status_code == 200


async def test_a_stale_tab_gets_a_readable_answer_and_a_reload_heals_it(house: House) -> None:
    client, first_tab = await a_session(house)
    await sign_in(client)
    answer = await client.post("/operate", data={"_csrf": first_tab})
    assert answer.status_code == 403
    assert "Reload it" in answer.json()["detail"]
    reloaded = (await client.get("/")).text
    assert (await client.post("/operate", data={"_csrf": reloaded})).status_code == 200


async def test_a_dead_session_is_led_to_sign_in_instead_of_a_403(house: House) -> None:
    client, own = await a_session(house)
    house.clock.advance(days=15)
    answer = await client.post("/console/action", data={"_csrf": own})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


async def test_a_sign_in_form_without_its_cookie_or_token_signs_nobody_in(house: House) -> None:
    page = await (client := house.browser()).get("/sign-in")
    without_token = await client.post("/sign-in", data={"token": TOKEN})
    without_cookie = await house.browser().post("/sign-in", data={"token": TOKEN, "_csrf": csrf_in(page.text)})
    assert (without_token.status_code, without_cookie.status_code) == (403, 403)
    assert COOKIE not in client.cookies


async def test_a_refused_sign_in_form_comes_back_as_one_that_works(house: House) -> None:
    client = house.browser()
    refused = await client.post("/sign-in", data={"token": TOKEN, "next": "/console/page"})
    again = {"token": TOKEN, "_csrf": csrf_in(refused.text)}
    assert (await client.post("/sign-in", data=again)).status_code == 303


async def test_two_tabs_with_the_sign_in_form_both_work(house: House) -> None:
    client = house.browser()
    first, second = [csrf_in((await client.get("/sign-in")).text) for _ in range(2)]
    assert (await client.post("/sign-in", data={"token": TOKEN, "_csrf": second})).status_code == 303
    assert (await client.post("/sign-in", data={"token": TOKEN, "_csrf": first})).status_code == 303


async def test_another_sites_page_cannot_sign_anybody_in(house: House) -> None:
    client = house.browser()
    csrf = csrf_in((await client.get("/sign-in")).text)
    answer = await client.post(
        "/sign-in", data={"token": TOKEN, "_csrf": csrf}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert answer.status_code == 403
