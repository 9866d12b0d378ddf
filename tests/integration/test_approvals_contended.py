"""Many answers at once, and answers too late: one stands, everybody hears which, and the call runs at most once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.auth import csrf
from app.services import sessions, tokens
from db.schema import EventRow
from tests.support import NOW, a_ticket, an_operator
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

COOKIE = "c" * 43
ANSWERS = 20


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated, secure_cookies=False) as world:
        await world.system.db.write(_second_operator)
        yield world


def _second_operator(session: Session) -> None:
    user_id = an_operator(session, name="Second", email="second@example.test")
    given: dict[str, Any] = {"user_id": user_id, "token_id": None, "ttl_s": 86_400 * 90, "old": None}
    sessions.start(session, tokens.hashed(COOKIE), NOW, **given)


def a_browser(world: World) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(world.system.app)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", cookies={"session": COOKIE})


async def test_of_twenty_answers_at_once_one_stands(world: World) -> None:
    """Ops approves, Second rejects; half of each as JSON, half on the console's form."""
    browser = a_browser(world)
    for first in (0, 5, 11):  # a no as JSON, a yes as JSON, a yes on the form: whoever comes first wins
        ticket = await world.system.db.write(a_ticket)
        await world.sweep()
        [request] = await world.pending()

        def answer(number: int, request: str = request) -> Any:
            verb = "approve" if number % 2 else "reject"
            if number < ANSWERS / 2:
                return world.client.post(f"/approvals/{request}/{verb}", json={})
            return browser.post(f"/console/approvals/{request}/{verb}", data={"_csrf": csrf.token(COOKIE)})

        numbers = [(first + number) % ANSWERS for number in range(ANSWERS)]
        answers = dict(zip(numbers, await asyncio.gather(*map(answer, numbers)), strict=True))
        await world.system.host.drain()
        [winner] = [number for number, one in answers.items() if one.status_code in (200, 303)]
        row = await world.approval(request)
        assert row.decision == ("approved" if winner % 2 else "rejected")
        assert row.decided_by == ("Ops On-Call" if winner < ANSWERS / 2 else "Second")
        losers = [one for number, one in answers.items() if number != winner]
        assert [one.status_code for one in losers] == [409] * (ANSWERS - 1)
        assert {one.json()["state"] for one in losers if "json" in one.headers["content-type"]} == {row.decision}
        closed = row.decision == "approved"
        assert (await world.ticket(ticket)).status == ("closed" if closed else "open")
        assert await world.events(f"ticket:{ticket}") == (["approved", "closed"] if closed else ["rejected"])


async def test_a_no_after_a_yes_changes_nothing_before_and_after_the_call(world: World) -> None:
    ticket = await world.system.db.write(a_ticket)
    await world.sweep()
    [request] = await world.pending()
    await world.approve(request, wake=False)
    world.clock.advance(seconds=5)
    assert (await world.client.post(f"/approvals/{request}/reject", json={})).status_code == 409
    await world.run_due(seconds=30)
    assert (await world.ticket(ticket)).status == "closed"
    again = await world.client.post(f"/approvals/{request}/approve", json={})
    assert (again.status_code, again.json()["state"]) == (409, "approved")
    assert await world.events(f"ticket:{ticket}") == ["approved", "closed"]


async def test_a_yes_in_the_last_minute_counts_when_the_host_was_down_past_the_window(
    tmp_path: Path, migrated: Path
) -> None:
    """The window to answer is over, the one to use the answer is not."""
    ticket, request = await answered_in_the_last_minute(tmp_path, migrated)
    async with a_world(tmp_path, migrated, now=NOW + timedelta(hours=72 + 24, seconds=-61)) as world:
        assert (await world.ticket(ticket)).status == "closed"
        assert (await world.approval(request)).ended == "used"


async def test_a_yes_is_over_a_day_after_the_answer(tmp_path: Path, migrated: Path) -> None:
    ticket, request = await answered_in_the_last_minute(tmp_path, migrated)
    async with a_world(tmp_path, migrated, now=NOW + timedelta(hours=72 + 24, seconds=-60)) as world:
        assert (await world.ticket(ticket)).status == "open"
        assert (await world.approval(request)).ended == "expired"


async def answered_in_the_last_minute(tmp_path: Path, migrated: Path) -> tuple[int, str]:
    """Asked at NOW, approved 60 s before the 72 h are over; the wake is lost and the process ends."""
    async with a_world(tmp_path, migrated) as world:
        ticket = await world.system.db.write(a_ticket)
        await world.sweep()
        [request] = await world.pending()
        world.clock.advance(hours=72, seconds=-60)
        await world.approve(request, wake=False)
        return ticket, request


async def test_a_second_after_the_window_a_yes_is_refused_though_nobody_has_looked_since(world: World) -> None:
    ticket = await world.system.db.write(a_ticket)
    await world.sweep()
    [request] = await world.pending()
    world.clock.advance(hours=72, seconds=1)
    refused = await world.client.post(f"/approvals/{request}/approve", json={})
    assert (refused.status_code, refused.json()["state"]) == (409, "expired")
    assert (await world.approval(request)).ended is None  # the refusal wrote nothing
    await world.system.host.run_due(world.clock.at)
    assert (await world.approval(request)).ended == "expired"
    assert (await world.ticket(ticket)).status == "open"
    events = await world.system.db.read(lambda s: list(s.scalars(select(EventRow.kind))))
    assert events == []
