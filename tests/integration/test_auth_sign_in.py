"""Signing in by token or link, and out: new ids, dead rows, dead owners, cookies."""

import re
from datetime import datetime

import httpx
import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from support_auth import OTHER_TOKEN, READER_TOKEN, TOKEN, TOOLS_TOKEN, House

from app.services import sessions, tokens, users
from db.engine import Database
from db.schema import SessionRow, SignInLinkRow

pytestmark = pytest.mark.anyio
COOKIE = "__Host-session"


@pytest.fixture
async def house(database: Database, now: datetime) -> House:
    house = House(database, now)
    await house.add_people()
    return house


def csrf_in(page: str) -> str:
    found = re.search(r'name="_csrf" value="([0-9a-f]{64})"', page)
    assert found
    return found[1]


async def sign_in(client: httpx.AsyncClient, token: str = TOKEN, next_: str = "/") -> httpx.Response:
    page = await client.get("/sign-in")
    return await client.post("/sign-in", data={"token": token, "next": next_, "_csrf": csrf_in(page.text)})


async def follow_link(client: httpx.AsyncClient, secret: str) -> httpx.Response:
    page = await client.get(f"/sign-in/link/{secret}")
    return await client.post("/sign-in/link", data={"secret": secret, "_csrf": csrf_in(page.text)})


async def who(client: httpx.AsyncClient) -> str | None:
    name: str | None = (await client.get("/whoami")).json()["who"]
    return name


def rows(session: Session) -> int:
    return session.execute(select(func.count()).select_from(SessionRow)).scalar_one()


async def test_a_first_visit_signs_in_and_pages_cost_one_statement(house: House) -> None:
    client = house.browser()
    answer = await sign_in(client, next_="/console/page?x=//y")
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/page?x=//y")
    assert (await client.get("/whoami")).json() == {"who": "operator:1", "how": "session"}
    assert house.statements[-1] == 1


async def test_the_database_keeps_only_a_hash_of_the_cookie(house: House) -> None:
    client = house.browser()
    await sign_in(client)
    kept = await house.db.read(lambda session: session.execute(select(SessionRow.id)).scalar_one())
    assert kept == tokens.hashed(client.cookies[COOKIE])


async def test_the_cookie_is_out_of_reach_for_scripts_other_sites_and_plain_http(house: House) -> None:
    answer = await sign_in(house.browser())
    flags = set(answer.headers["set-cookie"].split("; ")[1:])
    assert flags == {"HttpOnly", "Secure", "SameSite=lax", "Path=/", f"Max-Age={14 * 24 * 3600}"}


async def test_without_secure_cookies_they_have_plain_names(database: Database, now: datetime) -> None:
    house = House(database, now, secure=False)
    await house.add_people()
    client = house.browser()
    answer = await sign_in(client)
    assert answer.headers["set-cookie"].startswith("session=")
    assert "Secure" not in answer.headers["set-cookie"]
    assert set(client.cookies) == {"session", "guest"}
    assert await who(client) == "operator:1"


@pytest.mark.parametrize("token", ["", "junk", "trg_ops_wrong", "caf\xe9", "\ud800".encode(errors="surrogatepass")])
async def test_every_miss_reads_the_same(house: House, token: str) -> None:
    client = house.browser()
    answer = await sign_in(client, token)
    assert answer.status_code == 401
    assert "unknown, used up, expired or revoked" in answer.text
    assert COOKIE not in client.cookies


@pytest.mark.parametrize("end", ["revoke", "expire", "disable"])
async def test_a_dead_token_is_a_miss_like_any_other(house: House, end: str) -> None:
    await kill(house, end)
    answer = await sign_in(house.browser())
    assert answer.status_code == 401
    assert "unknown, used up, expired or revoked" in answer.text


async def kill(house: House, end: str) -> None:
    if end == "revoke":
        await house.db.write(tokens.revoke, "ops", house.clock())
    elif end == "disable":
        await house.db.write(users.disable, "ops@example.test", house.clock())
    else:
        house.clock.advance(days=30)


@pytest.mark.parametrize("end", ["revoke", "disable"])
async def test_a_session_dies_with_its_token_and_its_owner(house: House, end: str) -> None:
    client = house.browser()
    await sign_in(client)
    await kill(house, end)
    assert await who(client) is None


async def test_a_session_dies_when_its_token_expires(house: House) -> None:
    client = house.browser()
    house.clock.advance(days=30, minutes=-1)
    await sign_in(client)
    assert await who(client) == "operator:1"
    house.clock.advance(minutes=1)
    assert await who(client) is None


async def test_a_session_ends_at_a_fixed_time_however_much_it_is_used(house: House) -> None:
    client = house.browser()
    await sign_in(client)
    for _ in range(13):
        house.clock.advance(days=1)
        assert await who(client) == "operator:1"
    house.clock.advance(days=1)
    assert await who(client) is None


async def test_a_tools_token_does_not_sign_in(house: House) -> None:
    answer = await sign_in(house.browser(), TOOLS_TOKEN)
    assert answer.status_code == 403
    assert "/mcp only" in answer.text


@pytest.mark.parametrize("path", ["/sign-in", "/sign-in/link/x"])
async def test_the_sign_in_pages_take_no_token_in_a_header(house: House, path: str) -> None:
    answer = await house.browser().get(path, headers={"Authorization": f"Bearer {TOOLS_TOKEN}"})
    assert answer.status_code == 403


async def test_signing_in_never_adopts_an_id_and_drops_the_old_row(house: House) -> None:
    client = house.browser()
    client.cookies.set(COOKIE, "chosen-by-somebody", domain="triager.test")
    await sign_in(client)
    first = client.cookies[COOKIE]
    await sign_in(client)
    assert len({"chosen-by-somebody", first, client.cookies[COOKIE]}) == 3
    assert await house.db.read(rows) == 1
    assert await who(house.browser(cookies={COOKIE: first})) is None


async def test_a_sign_in_sweeps_out_sessions_past_their_time(house: House) -> None:
    await sign_in(house.browser())
    house.clock.advance(days=14)
    await sign_in(house.browser(), OTHER_TOKEN)
    assert await house.db.read(rows) == 1


async def test_signing_out_ends_the_session_on_the_server_too(house: House) -> None:
    client = house.browser()
    await sign_in(client)
    cookie = client.cookies[COOKIE]
    answer = await client.post("/sign-out", headers={"x-csrf-token": (await client.get("/")).text})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert {"Secure", "Max-Age=0", "Path=/"} <= set(answer.headers["set-cookie"].split("; "))
    assert await who(house.browser(cookies={COOKIE: cookie})) is None
    assert await house.db.read(rows) == 0


async def test_signing_out_when_nobody_is_signed_in_is_no_error(house: House) -> None:
    assert (await house.browser(cookies={COOKIE: "gone"}).post("/sign-out")).status_code == 303


async def test_a_slow_request_does_not_revive_a_session_that_ended_meanwhile(house: House) -> None:
    client = house.browser()
    await sign_in(client)
    csrf = (await client.get("/")).text
    house.clock.advance(minutes=6)
    assert (await client.post("/slow", headers={"x-csrf-token": csrf})).status_code == 200
    assert await house.db.read(rows) == 0


async def test_being_seen_is_noted_every_five_minutes_for_one_statement(house: House) -> None:
    client = house.browser()
    await sign_in(client)
    del house.statements[:]
    for minutes in (4, 1, 4, 1):
        house.clock.advance(minutes=minutes)
        await client.get("/whoami")
    assert house.statements == [1, 2, 1, 2]


@pytest.mark.parametrize("cookie", ["x", "%00", "caf\xe9".encode(), '"', "a" * 10_000])
async def test_a_tampered_cookie_is_nobody(house: House, cookie: str | bytes) -> None:
    raw = cookie if isinstance(cookie, bytes) else cookie.encode()
    answer = await house.browser().get("/whoami", headers=[(b"Cookie", COOKIE.encode() + b"=" + raw)])
    assert answer.json() == {"who": None, "how": None}


async def test_a_read_only_person_signs_in_and_still_may_not_act(house: House) -> None:
    client = house.browser()
    await sign_in(client, READER_TOKEN)
    csrf = (await client.get("/")).text
    assert (await client.post("/operate", headers={"x-csrf-token": csrf})).status_code == 403


async def test_a_link_signs_in_once(house: House) -> None:
    await house.db.write(sessions.make_link, tokens.hashed("s3cret"), 1, house.clock())
    client = house.browser()
    assert (await follow_link(client, "s3cret")).headers["location"] == "/"
    assert await who(client) == "operator:1"
    again = await follow_link(house.browser(), "s3cret")
    assert again.status_code == 401
    assert "unknown, used up, expired or revoked" in again.text


async def test_looking_at_a_link_uses_nothing_up(house: House) -> None:
    await house.db.write(sessions.make_link, tokens.hashed("s3cret"), 1, house.clock())
    client = house.browser()
    page = await client.get("/sign-in/link/s3cret")
    assert page.headers["cache-control"] == "no-store"
    assert await who(client) is None
    assert (await follow_link(client, "s3cret")).status_code == 303


@pytest.mark.parametrize("end", ["ten minutes", "disabled"])
async def test_a_link_dies_after_ten_minutes_and_with_its_user(house: House, end: str) -> None:
    await house.db.write(sessions.make_link, tokens.hashed("s3cret"), 1, house.clock())
    if end == "disabled":
        await kill(house, "disable")
    else:
        house.clock.advance(minutes=10)
    assert (await follow_link(house.browser(), "s3cret")).status_code == 401


async def test_making_a_link_sweeps_out_expired_ones(house: House) -> None:
    await house.db.write(sessions.make_link, "one", 1, house.clock())
    house.clock.advance(minutes=10)
    await house.db.write(sessions.make_link, "two", 1, house.clock())
    kept = await house.db.read(lambda session: session.execute(select(SignInLinkRow.id)).scalars().all())
    assert kept == ["two"]
