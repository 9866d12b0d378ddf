"""What a person refused is remembered by its row: for how long, for whom, and until somebody says "ask again"."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.runtime.instants import from_text, to_text
from app.runtime.principal import Principal
from app.runtime.tools.approvals import Approval, NewRequest, Rejection
from app.runtime.tools.client import Tools
from app.runtime.tools.fingerprint import fingerprint
from app.runtime.tools.results import Pending
from app.services.approval_gate import REMEMBERED
from app.services.approval_store import DatabaseApprovalStore
from tests.support import a_ticket, ago, an_approval
from tests.support_tools import statements
from tests.world import World, a_world, awake

pytestmark = pytest.mark.anyio

CLOSE = "tickets_close"
NO = {"decision": "rejected", "decided_at": ago(1), "ended": "rejected", "ended_at": ago(1)}
NIGHT = Principal.agent("triager", "night").key


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


def tools(world: World, instance: str = "main") -> Tools:
    return awake(world.system.host, "triager", instance)._agent.tools


async def refused(world: World, ticket_id: int, version: int = 1, **columns: Any) -> str:
    return await world.system.db.write(an_approval, ticket_id, version, **(NO | columns))


@pytest.mark.parametrize(
    ("stands", "remembered"),
    [
        ({}, True),
        ({"until_at": ago(-1)}, True),
        ({"until_at": ago(0)}, False),
        ({"superseded_at": ago(0)}, False),
        ({"ended": "cancelled"}, False),
        ({"decision": None, "ended": "expired"}, False),
        ({"decision": None, "ended": None, "ended_at": None}, False),
        ({"principal_key": NIGHT}, False),
        ({"tool": "tickets_reopen"}, False),
    ],
)
async def test_a_no_is_remembered_while_it_stands_and_only_for_its_caller_and_tool(
    world: World, stands: dict[str, Any], remembered: bool
) -> None:
    request = await refused(world, 1, reason="wait for the refund", **stands)
    expected = {"ticket:1": Rejection(request, stands.get("until_at"), "wait for the refund")} if remembered else {}
    assert await tools(world).rejections(CLOSE, ["ticket:1", "ticket:2"]) == expected


async def test_of_two_that_stand_the_newest_is_remembered_and_of_two_the_one_that_stands(world: World) -> None:
    newest = await refused(world, 1, 2, requested_at=ago(2))
    await refused(world, 1, 1, requested_at=ago(3))
    standing = await refused(world, 2, 1, requested_at=ago(3))
    await refused(world, 2, 2, requested_at=ago(2), until_at=ago(0.5))
    met = await tools(world).rejections(CLOSE, ["ticket:1", "ticket:2"])
    assert {subject: one.request_id for subject, one in met.items()} == {"ticket:1": newest, "ticket:2": standing}


async def test_remembering_costs_one_statement_for_any_number_of_subjects_and_reads_only_theirs(world: World) -> None:
    for ticket_id in range(1, 41):
        await refused(world, ticket_id)
    ran = statements(world.system.db)
    assert len(await tools(world).rejections(CLOSE, [f"ticket:{number}" for number in range(1, 1001)])) == 40
    assert len(ran) == 1
    values = {"subjects": "[]", "principal_key": "", "tool": "", "now": ""}
    plan = await world.system.db.read(lambda s: s.execute(text(f"EXPLAIN QUERY PLAN {REMEMBERED}"), values).all())
    assert "SEARCH approvals USING INDEX approvals_of_subject (subject=?)" in [row.detail for row in plan]


async def test_one_instance_is_not_bound_by_what_another_was_refused(world: World) -> None:
    await refused(world, 1)
    assert list(await tools(world).rejections(CLOSE, ["ticket:1"])) == ["ticket:1"]
    assert await tools(world, "night").rejections(CLOSE, ["ticket:1"]) == {}


async def reject(world: World, request_id: str, **body: Any) -> httpx.Response:
    return await world.client.post(f"/approvals/{request_id}/reject", json=body)


async def ask_again(world: World, request_id: str) -> httpx.Response:
    return await world.client.post(f"/approvals/{request_id}/ask-again")


async def close(world: World, ticket_id: int, version: int = 1, instance: str = "main") -> Any:
    """The call itself, as the triager makes it."""
    return await tools(world, instance).call(CLOSE, {"ticket_id": ticket_id, "version": version})


async def asked(world: World, version: int = 1) -> tuple[int, str]:
    """A ticket, and the request to close it."""
    ticket = await world.system.db.write(a_ticket, version=version)
    return ticket, (await close(world, ticket, version)).request_id


async def heard(world: World) -> None:
    await world.system.host.drain()


@pytest.mark.parametrize(
    ("said", "until"),
    [({"until_at": ago(-3)}, ago(-3)), ({"until_window_ends": True}, ago(-3)), ({"until_at": ago(-1)}, ago(-1))],
)
async def test_a_no_for_a_time_is_met_until_then_and_not_a_moment_longer(
    world: World, said: dict[str, Any], until: str
) -> None:
    ticket, request = await asked(world)  # the window is three days
    body = (await reject(world, request, **said)).json()
    assert (body["status"], body["until_at"]) == ("rejected", until)
    await heard(world)
    world.clock.at = from_text(until) - timedelta(milliseconds=1)
    met = await close(world, ticket)
    assert (met.reason, met.rejected, met.until) == ("approval", True, until)
    assert f"ticket:{ticket}" in await tools(world).rejections(CLOSE, [f"ticket:{ticket}"])
    world.clock.at = from_text(until)
    assert isinstance(await close(world, ticket), Pending)


async def test_a_bare_no_is_for_always_and_binds_this_version_of_the_call(world: World) -> None:
    ticket, request = await asked(world)
    assert (await reject(world, request, until_window_ends=False)).json()["until_at"] is None
    await heard(world)
    world.clock.advance(days=3650)
    assert (await close(world, ticket)).rejected
    assert list(await tools(world).rejections(CLOSE, [f"ticket:{ticket}"])) == [f"ticket:{ticket}"]


@pytest.mark.parametrize(
    "body",
    [
        {"until_at": ago(0)},
        {"until_at": ago(1)},
        {"until_at": ago(-3), "until_window_ends": True},
        {"until_window_ends": "yes"},
        {"until_window_ends": None},
    ],
)
async def test_a_no_whose_end_makes_no_sense_decides_nothing(world: World, body: dict[str, Any]) -> None:
    _, request = await asked(world)
    refusal = await reject(world, request, **body)
    assert refusal.status_code == 422
    assert (await world.approval(request)).decision is None
    assert await world.pending() == [request]


@pytest.mark.parametrize("said", [{}, {"until_at": ago(-30)}])
async def test_ask_again_forgets_a_no_so_that_the_very_same_call_is_put_to_people(
    world: World, said: dict[str, Any]
) -> None:
    ticket, request = await asked(world)
    await reject(world, request, **said)
    await heard(world)
    assert (await close(world, ticket)).rejected
    world.clock.advance(hours=1)
    ran = statements(world.system.db)
    answer = await ask_again(world, request)
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["superseded_at"]) == ("rejected", to_text(world.clock.at))
    assert [statement.split()[0] for statement in ran] == ["SELECT", "UPDATE", "INSERT"]
    assert await world.events(f"ticket:{ticket}") == ["rejected", "ask again"]
    assert await tools(world).rejections(CLOSE, [f"ticket:{ticket}"]) == {}
    again = await close(world, ticket)
    assert isinstance(again, Pending)
    assert await world.pending() == [again.request_id] != [request]
    await world.approve(again.request_id)
    assert (await world.ticket(ticket)).status == "closed"
    assert (await world.approval(request)).ended == "rejected"  # what was said stays said


@pytest.mark.parametrize(
    ("stands", "word"),
    [
        ({}, "pending"),
        ({"expires_at": ago(0)}, "expired"),
        ({"ended": "expired"}, "expired"),
        ({"ended": "cancelled", "ended_reason": "changed since asked"}, "cancelled"),
        ({"decision": "approved", "use_by": ago(-1)}, "approved"),
        ({"decision": "approved", "ended": "used"}, "used"),
        (NO | {"until_at": ago(0)}, "rejected"),
        (NO | {"superseded_at": ago(0.5)}, "rejected"),
    ],
)
async def test_ask_again_of_what_is_no_standing_no_says_what_it_is_instead(
    world: World, stands: dict[str, Any], word: str
) -> None:
    request = await world.system.db.write(an_approval, **stands)
    answer = await ask_again(world, request)
    assert (answer.status_code, answer.json()["state"]) == (409, word)
    assert word in answer.json()["detail"]
    assert "Nothing was changed." in answer.json()["detail"]
    assert (await world.approval(request)).superseded_at == stands.get("superseded_at")
    assert await world.events("ticket:1") == []


async def test_ask_again_of_an_unknown_request_is_not_found(world: World) -> None:
    answer = await ask_again(world, "nobody")
    assert (answer.status_code, "Nothing was changed." in answer.json()["detail"]) == (404, True)


async def test_of_two_who_say_ask_again_at_once_one_is_heard(world: World) -> None:
    request = await refused(world, 1)
    answers = await asyncio.gather(*(ask_again(world, request) for _ in range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert await world.events("ticket:1") == ["ask again"]


async def test_a_no_and_ask_again_at_once_leave_one_of_two_whole_stories(world: World) -> None:
    ticket, request = await asked(world)
    no, again = await asyncio.gather(reject(world, request), ask_again(world, request))
    assert no.status_code == 200
    forgotten = (await world.approval(request)).superseded_at is not None
    assert again.status_code == (200 if forgotten else 409)
    assert await world.events(f"ticket:{ticket}") == (["rejected", "ask again"] if forgotten else ["rejected"])


async def test_silence_is_no_refusal(world: World) -> None:
    ticket, request = await asked(world)
    await world.run_due(hours=73)
    assert (await world.approval(request)).ended == "expired"
    assert await tools(world).rejections(CLOSE, [f"ticket:{ticket}"]) == {}
    assert isinstance(await close(world, ticket), Pending)


async def test_an_agent_is_refused_per_ticket_whatever_has_become_of_it_and_of_its_own_memory(world: World) -> None:
    """The row is the memory: an agent that lost its state, or calls about another version, meets it all the same."""
    ticket, request = await asked(world)
    await reject(world, request)
    await heard(world)
    await world.client.post(f"/tickets/{ticket}/comments", json={"body": "Looking into it."})
    assert (await world.ticket(ticket)).version == 2
    assert list(await tools(world).rejections(CLOSE, [f"ticket:{ticket}"])) == [f"ticket:{ticket}"]
    assert (await close(world, ticket, 2)).rejected
    await world.client.post(f"/approvals/{request}/ask-again")
    assert isinstance(await close(world, ticket, 2), Pending)


async def test_a_no_to_one_instance_lets_another_ask_about_the_same_ticket(world: World) -> None:
    ticket, request = await asked(world)
    await reject(world, request)
    await heard(world)
    assert (await close(world, ticket)).rejected
    assert isinstance(await close(world, ticket, instance="night"), Pending)


async def test_a_token_is_refused_the_call_that_was_rejected_and_no_other(world: World) -> None:
    store = DatabaseApprovalStore(world.system.db, 3600)

    async def ask(request_id: str, version: int, key: str = "token:7") -> Approval | None:
        call = {"ticket_id": 1, "version": version}
        request = NewRequest(request_id, CLOSE, call, fingerprint(call), key, "ticket:1", {})
        return await store.ask(request, world.clock.at)

    assert await ask("first", 1) is None
    await reject(world, "first", until_at=ago(-3), reason="not this one")
    met = await ask("again", 1)
    assert met is not None
    assert (met.id, met.status, met.until, met.reason) == ("first", "rejected", ago(-3), "not this one")
    assert await ask("newer", 2) is None
    assert await ask("another's", 1, "token:8") is None
    assert (await ask_again(world, "first")).status_code == 200
    assert await ask("once more", 1) is None


async def test_a_no_to_an_agents_call_about_nothing_that_exists_yet_refuses_that_call_and_no_other(
    world: World,
) -> None:
    """Without a path argument the subject is the tool: a no to one new parcel is none to every parcel."""
    store, send = DatabaseApprovalStore(world.system.db, 3600), "parcels_send"

    async def ask(request_id: str, note: str) -> Approval | None:
        call = {"note": note}
        request = NewRequest(request_id, send, call, fingerprint(call), NIGHT, send, {})
        return await store.ask(request, world.clock.at)

    assert await ask("first", "a") is None
    await reject(world, "first", reason="not this one")
    met = await ask("again", "a")
    assert met is not None
    assert (met.id, met.status) == ("first", "rejected")
    assert await ask("another", "b") is None


async def test_the_sweep_asks_again_once_a_person_says_so_and_not_before(world: World) -> None:
    await world.system.db.write(a_ticket)
    assert (await world.sweep())["asked"] == 1
    [request] = await world.pending()
    await reject(world, request)
    await heard(world)
    assert [(await world.sweep())["asked"] for _ in range(2)] == [0, 0]
    await ask_again(world, request)
    assert (await world.sweep())["asked"] == 1
    [again] = await world.pending()
    assert again != request
