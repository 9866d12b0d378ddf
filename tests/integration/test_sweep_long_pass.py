"""A pass of several sweeps: it forgets nobody who waits for us, and says how long it takes, or takes at least."""

from pathlib import Path

import httpx
import pytest
from sqlalchemy.orm import Session

from app.domain import COUNT_MAX
from app.services import sessions, tokens
from tests.support import NOW
from tests.support_sweep import QUIET, bulk, queue, route_fails, words
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

COOKIE = "c" * 43
FIRST, LAST = [1, 2, 3], [31, 32, 33]  # nobody answered these; in between, each may be asked about


async def met(world: World, *, hours: float = 1) -> list[int]:
    """Who waits for us, by the report after one more sweep, all of whose questions people said yes to."""
    world.clock.advance(hours=hours)
    await world.sweep()
    for request in await world.pending():
        await world.approve(request)
    report = await world.report()
    return [one["ticket_id"] for one in report["waiting_on_us"]]


async def over(world: World) -> bool:
    return (await world.report())["progress"]["next"] is None


async def a_pass(world: World) -> None:
    """Of three sweeps, that meet the first, nobody, and the last."""
    await queue(world, 1, 3, last_speaker="requester")
    await queue(world, 4, 30)
    await queue(world, 31, 33, last_speaker="requester")
    assert [await met(world) for _ in range(3)] == [FIRST, FIRST, [*FIRST, *LAST]]
    assert await over(world)


async def more_between(world: World) -> None:
    """So many that the next pass comes to the last of them only in its third sweep."""
    await bulk(world, [QUIET - 3.5 - number / 10 for number in range(25)])


async def answer(world: World, ticket: int) -> None:
    done = await world.client.post(f"/tickets/{ticket}/comments", json={"body": "On it."})
    assert done.status_code == 201


async def test_every_sweep_of_a_pass_tells_all_that_its_pass_and_the_one_before_have_met(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await a_pass(world)
        await more_between(world)
        assert [await met(world) for _ in range(3)] == [[*FIRST, *LAST]] * 3
        assert await over(world)


async def test_who_was_answered_is_gone_when_the_next_pass_is_over(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await a_pass(world)
        await more_between(world)
        for ticket in (1, 33):
            await answer(world, ticket)
        assert [await met(world) for _ in range(3)] == [[2, 3, 1, *LAST], [2, 3, 1, *LAST], [2, 3, 31, 32]]


async def test_a_sweep_that_sees_nothing_forgets_nobody(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await a_pass(world)
        route_fails(monkeypatch, lambda tool, _: tool == "tickets_index")
        assert await met(world) == [*FIRST, *LAST]
        monkeypatch.undo()
        assert await met(world) == [*FIRST, *LAST]


async def test_a_pass_that_comes_no_further_forgets_nobody(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ticket is to be asked about, and no more questions may be open: nobody behind it is looked at."""
    async with a_world(tmp_path, migrated) as world:
        await a_pass(world)
        await bulk(world, [QUIET + 1.0])
        monkeypatch.setattr("app.runtime.tools.client.Tools.room", lambda _: 0)
        assert [sorted(await met(world)) for _ in range(2)] == [[*FIRST, *LAST]] * 2
        assert set(words(world).values()) == {"later"}
        monkeypatch.undo()
        assert sorted(await met(world)) == [*FIRST, *LAST]


def _signed_in(session: Session) -> None:
    sessions.start(session, tokens.hashed(COOKIE), NOW, user_id=1, token_id=None, ttl_s=86_400, old=None)


@pytest.mark.parametrize(("stale", "at_least"), [(COUNT_MAX + 10, True), (COUNT_MAX - 1, False)])
async def test_where_more_are_stale_than_are_counted_a_pass_takes_at_least_as_many_sweeps_as_it_says(
    tmp_path: Path, migrated: Path, stale: int, at_least: bool
) -> None:
    async with a_world(tmp_path, migrated, secure_cookies=False) as world:
        await bulk(world, [100.0] * stale)
        await world.sweep()
        progress = (await world.report())["progress"]
        assert progress["at_least"] is at_least
        await world.system.db.write(_signed_in)
        transport = httpx.ASGITransport(world.system.app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", cookies={"session": COOKIE}
        ) as browser:
            page = (await browser.get("/console/agents/triager", headers={"accept": "text/html"})).text
        about = "at least" if at_least else "about"
        assert f"in 1 of {about} {progress['sweeps_for_all']} sweeps." in page
        assert ("10 of at least 1,000 stale tickets" in page) is at_least
