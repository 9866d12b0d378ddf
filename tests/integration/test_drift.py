"""A ticket that changes between the question and the close: what was approved is what runs, or nothing does."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy.orm import Session

from app.runtime.tools.results import Pending
from app.services import sessions, tokens
from tests.support import NOW, a_ticket, ago
from tests.support_console import words
from tests.support_ledger import ledger_rows, settled
from tests.world import World, a_world, awake

pytestmark = pytest.mark.anyio

COOKIE = "c" * 43


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated, secure_cookies=False) as world:
        await world.system.db.write(_signed_in)
        yield world


def _signed_in(session: Session) -> None:
    sessions.start(session, tokens.hashed(COOKIE), NOW, user_id=1, token_id=None, ttl_s=86_400, old=None)


async def close(world: World, ticket: int, version: int) -> Any:
    """As the triager calls it."""
    tools = awake(world.system.host, "triager", "main")._agent.tools
    return await tools.call("tickets_close", {"ticket_id": ticket, "version": version})


def browser(world: World) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(world.system.app)
    headers = {"accept": "text/html"}
    return httpx.AsyncClient(
        transport=transport, base_url="http://localhost", cookies={"session": COOKIE}, headers=headers
    )


async def console(world: World, tab: str = "waiting") -> str:
    return (await browser(world).get(f"/?tab={tab}")).text


async def by_json(world: World, request: str, _page: str) -> None:
    answer = await world.client.post(f"/approvals/{request}/approve", json={})
    assert (answer.status_code, answer.json()["status"]) == (200, "approved")


async def by_form(world: World, request: str, page: str) -> None:
    """The page from before, pressed now."""
    assert f'action="/console/approvals/{request}/approve"' in page
    form = page.partition(f'action="/console/approvals/{request}/approve"')[2]
    fields = dict(re.findall(r'name="(_csrf|fingerprint)" value="(\w+)"', form)[:2])
    answer = await browser(world).post(f"/console/approvals/{request}/approve", data=fields | {"reason": ""})
    assert answer.status_code == 303


Change = tuple[tuple[str, str, dict[str, Any]], ...]  # method, what of the ticket, body
Approve = Callable[[World, str, str], Awaitable[None]]

MOVED: dict[str, Change] = {
    "the requester writes": (("POST", "/comments", {"body": "Still broken.", "speaker": "requester"}),),
    "an operator writes": (("POST", "/comments", {"body": "Looking into it."}),),
    "the title is edited": (("PATCH", "", {"title": "Something else"}),),
    "it is protected": (("PATCH", "", {"protected_until": ago(-30)}),),
    "it becomes exempt": (("PATCH", "", {"priority": "urgent"}),),
    "a person closes it": (("POST", "/close", {"version": 3}),),
    "it is closed and reopened": (("POST", "/close", {"version": 3}), ("POST", "/reopen", {})),
}
THE_SAME: dict[str, Change] = {
    "nothing happens": (),
    "a note is added": (("POST", "/comments", {"body": "They called.", "public": False}),),
    "it gets a label that exempts nothing": (("PATCH", "", {"labels": ["printer"]}),),
    "the body is edited": (("PATCH", "", {"body": "Steps to reproduce"}),),
}


async def happens(world: World, ticket: int, change: Change) -> None:
    for method, what, body in change:
        answer = await world.client.request(method, f"/tickets/{ticket}{what}", json=body)
        assert answer.is_success, answer.text


async def the_story(world: World, change: Change, approve: Approve, *, answer_first: bool) -> tuple[int, str]:
    """Asked at version 3, changed, approved from the page of before; or changed only after the yes."""
    ticket = await world.system.db.write(a_ticket, version=3)
    request = (await close(world, ticket, 3)).request_id
    page = await console(world)
    wake = world.system.host.wake
    world.system.host.wake = lambda _: None  # type: ignore[method-assign]
    if answer_first:
        await approve(world, request, page)
    await happens(world, ticket, change)
    if not answer_first:
        await approve(world, request, page)
    world.system.host.wake = wake  # type: ignore[method-assign]
    wake([("agent:triager:main", request)])
    await world.system.host.drain()
    return ticket, request


@pytest.mark.parametrize("answer_first", [False, True], ids=["then approved", "after the yes"])
@pytest.mark.parametrize("approve", [by_json, by_form])
@pytest.mark.parametrize("change", MOVED.values(), ids=MOVED)
async def test_a_ticket_that_moved_is_left_alone_and_everybody_hears_why(
    world: World, change: Change, approve: Approve, answer_first: bool
) -> None:
    ticket, request = await the_story(world, change, approve, answer_first=answer_first)

    row = await world.ticket(ticket)
    by_a_person = change == MOVED["a person closes it"]
    assert (row.status, row.changed_by_request) == ("closed" if by_a_person else "open", None)
    assert row.version > 3
    stands = await world.approval(request)
    assert (stands.decision, stands.ended, stands.ended_reason) == ("approved", "cancelled", "changed since asked")

    page = (await world.client.get("/approvals")).json()
    assert page["pending"] == []
    assert [(one["id"], one["status"], one["ended_reason"]) for one in page["resolved"]] == [
        (request, "cancelled", "changed since asked")
    ]
    card = words((await console(world, "cancelled")).split("<article")[1])
    assert (
        f"#{ticket} cancelled Cancelled: changed since asked. Nothing was carried out. Ops On-Call , just now" in card
    )

    assert [one[:2] for one in await settled(world)] == [(request, "cancelled")]
    assert ledger_rows(world) == []
    await world.run_due(days=2)  # and nothing that still ticks closes it
    assert (await world.ticket(ticket)).changed_by_request is None


@pytest.mark.parametrize("answer_first", [False, True], ids=["then approved", "after the yes"])
@pytest.mark.parametrize("approve", [by_json, by_form])
@pytest.mark.parametrize("change", THE_SAME.values(), ids=THE_SAME)
async def test_a_ticket_whose_version_is_the_same_is_closed_as_approved(
    world: World, change: Change, approve: Approve, answer_first: bool
) -> None:
    ticket, request = await the_story(world, change, approve, answer_first=answer_first)
    row = await world.ticket(ticket)
    assert (row.status, row.changed_by_request, row.version) == ("closed", request, 4)
    assert (await world.approval(request)).ended == "used"
    assert await settled(world) == [(request, "approved", "ok")]


async def test_after_drift_the_old_call_is_refused_and_the_new_one_is_asked(world: World) -> None:
    ticket, request = await the_story(world, MOVED["the title is edited"], by_json, answer_first=False)
    assert (await close(world, ticket, 3)).outcome.status == 409
    assert isinstance(await close(world, ticket, 4), Pending)
    assert request not in await world.pending()


async def test_a_ticket_that_came_back_to_its_old_words_has_moved_all_the_same(world: World) -> None:
    there_and_back: Change = (("PATCH", "", {"title": "Other"}), ("PATCH", "", {"title": "Login page 500s on Safari"}))
    ticket, request = await the_story(world, there_and_back, by_json, answer_first=False)
    assert (await world.ticket(ticket)).status == "open"
    assert (await world.approval(request)).ended_reason == "changed since asked"


async def test_a_no_to_a_ticket_that_moved_is_a_no(world: World) -> None:
    """What a person refuses is remembered, whatever became of the ticket meanwhile."""
    ticket = await world.system.db.write(a_ticket, version=3)
    request = (await close(world, ticket, 3)).request_id
    await happens(world, ticket, MOVED["an operator writes"])
    assert (await world.client.post(f"/approvals/{request}/reject", json={})).status_code == 200
    await world.system.host.drain()
    assert [one[:2] for one in await settled(world)] == [(request, "rejected")]
    tools = awake(world.system.host, "triager", "main")._agent.tools
    assert list(await tools.rejections("tickets_close", [f"ticket:{ticket}"])) == [f"ticket:{ticket}"]
