"""What open pages hear: one watcher for all, that costs nothing while nobody looks and ends with the session."""

import asyncio
from collections.abc import AsyncGenerator

import httpx
import pytest
from sqlalchemy import event, update
from sqlalchemy.orm import Session
from support import an_approval
from support_console import COOKIE, OTHER_COOKIE, House

from app.domain import Unavailable
from app.product import web
from app.services import approval_gate, sessions, tokens, users, watch
from app.web.live import ALL_MAX, EACH_MAX, Watcher
from db.schema import SessionRow

pytestmark = pytest.mark.anyio
OWN, OTHERS = tokens.hashed(COOKIE), tokens.hashed(OTHER_COOKIE)


@pytest.fixture
def watcher(house: House) -> Watcher:
    return house.system.live


async def stamp(house: House) -> str:
    return await house.system.db.read(watch.stamp)


def heard(message: bytes) -> str:
    return message.decode().removeprefix("data: ").removesuffix("\n\n")


async def ended(stream: AsyncGenerator[bytes, None]) -> bool:
    return await anext(stream, None) is None


async def test_a_page_hears_the_stamp_at_once_and_whenever_it_changes(house: House, watcher: Watcher) -> None:
    stream = watcher.follow(OWN)
    first = heard(await anext(stream))
    assert first == await stamp(house)
    waiting = asyncio.ensure_future(anext(stream))
    await house.system.db.write(an_approval)
    await watcher.look()
    assert heard(await waiting) == await stamp(house) != first
    await stream.aclose()


async def test_the_page_carries_the_stamp_it_was_made_from(house: House) -> None:
    await house.system.db.write(an_approval)
    assert f'data-seen="{await stamp(house)}"' in await house.page()


async def test_what_writes_no_event_changes_the_stamp_too(house: House) -> None:
    await house.system.db.write(an_approval)
    before = await stamp(house)
    await house.system.db.write(approval_gate.end, "request-1-1", "changed since asked", house.clock())
    assert await stamp(house) != before


async def test_the_stamp_reads_no_table_whole(house: House) -> None:
    ran: list[str] = []
    event.listen(house.system.db._engine, "before_cursor_execute", lambda *given: ran.append(given[2]))
    await stamp(house)
    [query] = ran
    plan = await house.system.db.read(_explain, query)
    assert [line for line in plan if "SCAN" in line and "approvals_unended" not in line] == ["SCAN CONSTANT ROW"], plan


def _explain(session: Session, query: str) -> list[str]:
    rows = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {query}")
    return [row[-1] for row in rows]


async def test_nobody_looks_while_no_page_is_open(house: House, watcher: Watcher) -> None:
    assert watcher._task is None
    one, two = watcher.follow(OWN), watcher.follow(OTHERS)
    await anext(one)
    task = watcher._task
    await anext(two)
    assert watcher._task is task is not None
    await one.aclose()
    assert watcher._task is task
    await two.aclose()
    assert watcher._task is None


async def test_two_hundred_pages_cost_one_statement_a_look(house: House, watcher: Watcher) -> None:
    streams = [watcher.follow(OWN) for _ in range(200)]
    for stream in streams:
        await anext(stream)
    ran: list[str] = []
    event.listen(house.system.db._engine, "before_cursor_execute", lambda *given: ran.append(given[2]))
    watcher._looks = 0
    await watcher.look()
    assert len(ran) == 1
    for stream in streams:
        await stream.aclose()


@pytest.mark.parametrize("end", ["signed out", "disabled", "expired", "revoked"])
async def test_a_stream_ends_with_its_session_and_no_other_does(house: House, watcher: Watcher, end: str) -> None:
    await house.system.db.write(_by_token, house)
    one, two = watcher.follow(OWN), watcher.follow(OTHERS)
    await anext(one)
    await anext(two)
    match end:
        case "signed out":
            await house.system.db.write(sessions.end, OWN)
        case "disabled":
            await house.system.db.write(users.disable, "c@example.test", house.clock())
        case "revoked":
            await house.system.db.write(tokens.revoke, "t1", house.clock())
        case "expired":
            await house.system.db.write(_expire, house)
    await _roll_call(watcher)
    assert await ended(one)
    assert [stream.session for stream in watcher._streams] == [OTHERS]
    await two.aclose()


async def _roll_call(watcher: Watcher) -> None:
    for _ in range(4):
        await watcher.look()


def _by_token(session: Session, house: House) -> None:
    tokens.issue(session, "trg_t1_secret", house.clock(), name="t", email="c@example.test", scopes=[], expires_at=None)
    session.execute(update(SessionRow).where(SessionRow.id == OWN).values(token_id="t1"))  # noqa: S106 (an id)


def _expire(session: Session, house: House) -> None:
    at = house.clock().isoformat().replace("+00:00", ".000Z")
    session.execute(update(SessionRow).where(SessionRow.id == OWN).values(expires_at=at))


async def test_there_is_room_for_so_many_streams_of_a_session_and_in_all(watcher: Watcher) -> None:
    own = [watcher.follow(OWN) for _ in range(EACH_MAX)]
    for stream in own:
        await anext(stream)
    with pytest.raises(Unavailable, match="Poll instead"):
        watcher.admit(OWN)
    watcher.admit(OTHERS)
    await own[0].aclose()
    watcher.admit(OWN)
    more = [watcher.follow(OTHERS) for _ in range(ALL_MAX - len(own) + 1)]
    for stream in more:
        await anext(stream)
    with pytest.raises(Unavailable):
        watcher.admit("another")
    for stream in (*own, *more):
        await stream.aclose()


async def test_a_server_that_stops_ends_every_stream_and_admits_none(watcher: Watcher) -> None:
    stream = watcher.follow(OWN)
    await anext(stream)
    watcher.stop()
    assert await ended(stream)
    with pytest.raises(Unavailable):
        watcher.admit(OWN)


async def test_a_look_that_fails_is_the_last_of_nothing(
    house: House, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.web.live.LOOK_S", 0)
    stream = watcher.follow(OWN)
    first = heard(await anext(stream))
    await house.system.db.write(lambda session: session.connection().exec_driver_sql("ALTER TABLE events RENAME TO e"))
    await asyncio.sleep(0.01)
    await house.system.db.write(lambda session: session.connection().exec_driver_sql("ALTER TABLE e RENAME TO events"))
    await house.system.db.write(an_approval)
    assert heard(await asyncio.wait_for(anext(stream), 5)) != first
    await stream.aclose()


async def test_the_stream_says_nothing_to_strangers(house: House) -> None:
    house.browser.cookies.clear()
    for path in ("/console/events", "/console/changes"):
        answer = await house.browser.get(path)
        assert (answer.status_code, "etag" in answer.headers) == (401, False)


async def test_a_program_with_a_token_has_no_stream_and_polls(house: House) -> None:
    await house.system.db.write(_by_token, house)
    house.browser.cookies.clear()
    bearer = {"authorization": "Bearer trg_t1_secret", "accept": "*/*"}
    answer = await house.browser.get("/console/events", headers=bearer)
    assert (answer.status_code, answer.json()["detail"]) == (
        503,
        "There is no stream here. Poll instead: GET /console/changes",
    )
    assert (await house.browser.get("/console/changes", headers=bearer)).status_code == 200


async def test_where_nobody_watches_there_is_no_stream_and_pages_poll(house: House) -> None:
    system = house.system
    app = web(system.settings, system.db, system.host, house.clock)
    given = {"base_url": "http://localhost", "cookies": {"session": COOKIE}}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), **given) as browser:  # type: ignore[arg-type]
        assert (await browser.get("/console/events")).status_code == 503
        assert (await browser.get("/console/changes")).status_code == 200


async def test_a_poll_costs_a_statement_beyond_the_session_and_nothing_when_nothing_changed(house: House) -> None:
    first = await house.browser.get("/console/changes")
    assert (first.status_code, first.text, house.spent) == (200, await stamp(house), 2)
    for tag in (first.headers["etag"], f"W/{first.headers['etag']}"):
        same = await poll(house, tag)
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", first.headers["etag"])
    await house.system.db.write(an_approval)
    assert (await poll(house, first.headers["etag"])).status_code == 200


async def poll(house: House, tag: str) -> httpx.Response:
    return await house.browser.get("/console/changes", headers={"if-none-match": tag})


async def test_a_stream_over_http_is_unbuffered_and_frees_its_place_when_the_page_is_closed(
    house: House, watcher: Watcher
) -> None:
    sent: list[dict[str, object]] = []
    gone, spoken = asyncio.Event(), asyncio.Event()

    async def receive() -> dict[str, object]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)
        if message.get("body"):
            spoken.set()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/console/events",
        "raw_path": b"/console/events",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"localhost"), (b"cookie", f"session={COOKIE}".encode())],
    }
    answer = asyncio.ensure_future(house.system.app(scope, receive, send))
    await asyncio.wait_for(spoken.wait(), 5)
    headers = dict(sent[0]["headers"])  # type: ignore[call-overload]
    assert headers[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert headers[b"x-accel-buffering"] == b"no"
    assert sent[1]["body"] == f"data: {await stamp(house)}\n\n".encode()
    gone.set()
    await asyncio.wait_for(answer, 5)
    assert (watcher._streams, watcher._task) == (set(), None)
