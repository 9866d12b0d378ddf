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
ANSWERS, ROUNDS = 20, 50


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


def a_form(browser: httpx.AsyncClient, path: str, **fields: str) -> Any:
    return browser.post(f"/console/approvals/{path}", data={"_csrf": csrf.token(COOKIE), **fields})


async def test_of_twenty_answers_at_once_one_stands(world: World) -> None:
    """Fifty times over: Ops approves, Second rejects; half of each as JSON, alone or among others, half on a form."""
    browser = a_browser(world)
    winners = set()
    for first in range(ROUNDS):
        ticket, seen = await asked(world)

        def answer(number: int, seen: dict[str, str] = seen) -> Any:
            verb, decision = ("approve", "approved") if number % 2 else ("reject", "rejected")
            if number >= ANSWERS / 2:
                return a_form(browser, f"{seen['id']}/{verb}")
            if number % 4 < 2:
                return world.client.post(f"/approvals/{seen['id']}/{verb}", json={})
            several = [seen, {"id": "nobody", "fingerprint": ""}]
            return world.client.post("/approvals/answer", json={"decision": decision, "requests": several})

        numbers = [(first + number) % ANSWERS for number in range(ANSWERS)]
        answers = dict(zip(numbers, await asyncio.gather(*map(answer, numbers)), strict=True))
        await world.system.host.drain()
        row = await world.approval(seen["id"])
        [winner] = [number for number, one in answers.items() if heard(one) == "won"]
        assert row.decision == ("approved" if winner % 2 else "rejected")
        assert row.decided_by == ("Ops On-Call" if winner < ANSWERS / 2 else "Second")
        assert {heard(one) for number, one in answers.items() if number != winner} <= {row.decision, "conflict"}
        closed = row.decision == "approved"
        assert (await world.ticket(ticket)).status == ("closed" if closed else "open")
        assert await world.events(f"ticket:{ticket}") == (["approved", "closed"] if closed else ["rejected"])
        winners.add(winner)
    assert len(winners) > 1


def heard(answer: httpx.Response) -> str:
    """That it won, or what stands instead: the word of it, or "conflict" in a page."""
    if answer.status_code == 409:
        return answer.json()["state"] if "json" in answer.headers["content-type"] else "conflict"
    if answer.status_code == 303:
        return "won"
    [item, *_] = answer.json().get("results", [{"ok": True}])
    return "won" if item["ok"] else item["outcome"]


async def asked(world: World) -> tuple[int, dict[str, str]]:
    """A stale ticket, and what is shown of the request about it."""
    world.clock.advance(minutes=1)  # an agent makes so many calls a minute
    ticket = await world.system.db.write(a_ticket)
    await world.sweep()
    [request] = (await world.client.get("/approvals")).json()["pending"]
    return ticket, {"id": request["id"], "fingerprint": request["fingerprint"]}


async def test_of_many_who_answer_the_same_many_each_request_has_one_answer(world: World) -> None:
    """Each names them in another order. Every result is told to one of them, and what was said is recorded once."""
    for _ in range(5):
        await world.system.db.write(a_ticket)
    await world.sweep()
    pending = (await world.client.get("/approvals")).json()["pending"]
    seen = [{"id": one["id"], "fingerprint": one["fingerprint"]} for one in pending]

    def answer(number: int) -> Any:
        turned = seen[number % 5 :] + seen[: number % 5]
        decision = "approved" if number % 2 else "rejected"
        return world.client.post("/approvals/answer", json={"decision": decision, "requests": turned[: 1 + number % 5]})

    answers = await asyncio.gather(*map(answer, range(ANSWERS)))
    await world.system.host.drain()
    items = [item for one in answers for item in one.json()["results"]]
    won = [item for item in items if item["ok"]]
    assert len(won) == len({item["id"] for item in won}) == 5
    stands = {item["id"]: item["outcome"] for item in won}
    assert {item["id"]: item["outcome"] for item in items} == stands
    for request in pending:
        row, closed = await world.approval(request["id"]), stands[request["id"]] == "approved"
        assert row.decision == stands[row.id]
        assert await world.events(row.subject) == (["approved", "closed"] if closed else ["rejected"])


async def test_of_a_yes_and_many_who_take_it_back_at_once_there_is_one_whole_story(world: World) -> None:
    """While the agent carries it out: it is taken back before that, or the ticket is reopened after, or left closed."""
    browser = a_browser(world)
    for turn in range(ROUNDS):
        ticket, seen = await asked(world)
        undo = [
            world.client.post(f"/approvals/{seen['id']}/undo") if number % 2 else a_form(browser, f"{seen['id']}/undo")
            for number in range(10)
        ]
        undo.insert(turn % 10, world.client.post(f"/approvals/{seen['id']}/approve", json={}))
        answers = await asyncio.gather(*undo)
        await world.system.host.drain()
        undone = [one for one in answers if one.status_code in (200, 303) and "approve" not in str(one.request.url)]
        assert len(undone) <= 1
        assert {one.status_code for one in answers} <= {200, 303, 409}
        row = await world.approval(seen["id"])
        assert row.decision == "approved"
        whole = {
            ("cancelled", True): ["approved", "taken back"],
            ("used", True): ["approved", "closed", "reopened"],
            ("used", False): ["approved", "closed"],
        }
        assert await world.events(f"ticket:{ticket}") == whole[row.ended, bool(undone)]
        assert (await world.ticket(ticket)).status == ("open" if undone else "closed")
        await world.client.patch(f"/tickets/{ticket}", json={"priority": "urgent"})  # so that no sweep asks again


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
