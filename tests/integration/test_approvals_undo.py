"""Taking an answer back: what follows from it ends or is undone, and what was said stays said."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app.services import approval_gate
from db.schema import EventRow, TicketRow
from tests.support import a_spent_approval, a_ticket, ago, an_approval
from tests.support_tools import statements
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

NO: dict[str, Any] = {"decision": "rejected", "decided_at": ago(1), "ended": "rejected", "ended_at": ago(1)}
YES: dict[str, Any] = {"decision": "approved", "decided_at": ago(0), "decided_by": "Ana", "use_by": ago(-1)}


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


async def undo(world: World, request_id: str) -> httpx.Response:
    answer = await world.client.post(f"/approvals/{request_id}/undo")
    await world.system.host.drain()
    return answer


async def asked(world: World) -> tuple[int, str]:
    """A stale ticket, and the request about it."""
    ticket = await world.system.db.write(a_ticket)
    await world.sweep()
    return ticket, (await world.pending())[-1]


async def closed(world: World) -> tuple[int, str]:
    ticket, request = await asked(world)
    await world.approve(request)
    assert (await world.ticket(ticket)).status == "closed"
    return ticket, request


async def test_a_yes_that_nobody_has_spent_is_taken_back_and_its_agent_hears_of_it(world: World) -> None:
    ticket, request = await asked(world)
    await world.approve(request, wake=False)
    undone = await undo(world, request)
    assert (undone.status_code, undone.json()["status"], undone.json()["ended_reason"]) == (200, "cancelled", "undone")
    row = await world.approval(request)
    assert (row.decision, row.decided_by, row.ended, row.claim_id) == ("approved", "Ops On-Call", "cancelled", None)
    report = await world.report()
    assert (report["parked"], [one["status"] for one in report["settled"]]) == ([], ["cancelled"])
    assert (await world.ticket(ticket)).status == "open"
    assert await world.events(f"ticket:{ticket}") == ["approved", "taken back"]


async def test_after_that_the_agent_asks_again_at_its_next_sweep(world: World) -> None:
    _, request = await asked(world)
    await world.approve(request, wake=False)
    await undo(world, request)
    assert (await world.sweep())["asked"] == 1
    [again] = await world.pending()
    assert again != request
    await world.approve(again)
    assert (await world.approval(again)).ended == "used"


async def test_taking_a_yes_back_costs_three_statements(world: World) -> None:
    await world.system.db.write(an_approval, **YES)
    world.system.host.wake = lambda _: None  # type: ignore[method-assign]
    ran = statements(world.system.db)
    assert (await undo(world, "request-1-1")).status_code == 200
    assert [statement.split()[0] for statement in ran] == ["SELECT", "UPDATE", "INSERT"]


async def test_what_closed_a_ticket_is_undone_by_reopening_it(world: World) -> None:
    ticket, request = await closed(world)
    undone = await undo(world, request)
    assert (undone.status_code, undone.json()["status"]) == (200, "used")  # it was carried out, and stays so
    row = await world.ticket(ticket)
    assert (row.status, row.version, row.last_activity_at, row.closed_by) == ("open", 3, ago(0), None)
    assert await world.events(f"ticket:{ticket}") == ["approved", "closed", "reopened"]
    event = await world.system.db.read(lambda s: s.scalars(select(EventRow).order_by(EventRow.id.desc())).first())
    assert (event.actor, event.request_id, event.data) == ("operator:1", request, {"version": 3})
    assert (await world.sweep())["asked"] == 0  # reopening is activity


async def test_a_ticket_is_reopened_once(world: World) -> None:
    ticket, request = await closed(world)
    await undo(world, request)
    again = await undo(world, request)
    assert (again.status_code, again.json()["state"]) == (409, "used")
    assert (await world.ticket(ticket)).version == 3
    await world.client.post(f"/tickets/{ticket}/close", json={"version": 3})
    assert (await undo(world, request)).status_code == 409  # another's close is not its to undo
    assert (await world.ticket(ticket)).status == "closed"


@pytest.mark.parametrize("public", [True, False])
async def test_a_ticket_that_people_have_touched_since_is_not_reopened(world: World, public: bool) -> None:
    """An internal note is no reason: nothing that a decision rests on has changed."""
    ticket, request = await closed(world)
    await world.client.post(f"/tickets/{ticket}/comments", json={"body": "Thanks!", "public": public})
    answer = await undo(world, request)
    assert answer.status_code == (409 if public else 200)
    assert (await world.ticket(ticket)).status == ("closed" if public else "open")
    if public:
        assert "The ticket is not as that close left it." in answer.json()["detail"]
        assert "Nothing was changed." in answer.json()["detail"]


async def test_what_was_carried_out_and_closed_nothing_cannot_be_undone(world: World) -> None:
    """Another tool's call; and a close of a ticket that is gone."""
    done = {"ended": "used", "ended_at": ago(0)}
    await world.system.db.write(a_spent_approval, 1, subject="parcel:1", **done)
    preview = {"summary": "Closes it.", "before": {}, "after": {"status": "closed", "version": 2}}
    await world.system.db.write(a_spent_approval, 9, preview=preview, **done)
    refused = await undo(world, "request-1-1")
    assert (refused.status_code, refused.json()["state"]) == (409, "used")
    assert (await undo(world, "request-9-1")).status_code == 404


async def test_a_no_is_forgotten_so_that_it_may_be_asked_again(world: World) -> None:
    _, request = await asked(world)
    await world.reject(request)
    undone = await undo(world, request)
    assert (undone.json()["status"], undone.json()["superseded_at"]) == ("rejected", ago(0))
    assert await world.events("ticket:1") == ["rejected", "ask again"]
    assert (await world.sweep())["asked"] == 1


@pytest.mark.parametrize(
    ("stands", "word"),
    [
        ({}, "pending"),
        ({"expires_at": ago(0)}, "expired"),
        ({"ended": "expired"}, "expired"),
        ({"ended": "cancelled"}, "cancelled"),
        (YES | {"use_by": ago(0)}, "expired"),
        (YES | {"claim_id": "mine", "consumed_at": ago(0)}, "approved"),
        (YES | {"claim_id": "mine", "consumed_at": ago(0), "ended": "unknown"}, "unknown"),
        (YES | {"ended": "cancelled", "ended_reason": "undone"}, "cancelled"),
        (NO | {"superseded_at": ago(0.5)}, "rejected"),
        (NO | {"until_at": ago(0)}, "rejected"),
    ],
)
async def test_what_has_no_answer_to_take_back_says_how_it_stands(
    world: World, stands: dict[str, Any], word: str
) -> None:
    request = await world.system.db.write(an_approval, **stands)
    refused = await world.client.post(f"/approvals/{request}/undo")
    assert (refused.status_code, refused.json()["state"]) == (409, word)
    assert "Nothing was changed." in refused.json()["detail"]
    row = await world.approval(request)
    assert (row.ended, row.superseded_at) == (stands.get("ended"), stands.get("superseded_at"))
    assert await world.events("ticket:1") == []


async def test_an_unknown_request_is_not_found(world: World) -> None:
    assert (await undo(world, "nobody")).status_code == 404


async def test_a_yes_is_taken_back_while_all_is_halted_and_nothing_else_is_answered(world: World) -> None:
    """It is a protection; and whoever resumes finds nothing to carry out."""
    ticket, request = await asked(world)
    await world.approve(request, wake=False)
    assert (await world.client.post("/ops/agents/halt", json={})).status_code == 200
    assert (await undo(world, request)).status_code == 200
    assert (await world.client.post("/ops/agents/resume", json={})).status_code == 200
    await world.run_due(hours=1)
    assert (await world.ticket(ticket)).status == "open"
    assert (await world.approval(request)).ended_reason == "undone"


@pytest.mark.parametrize("undone_first", [True, False])
async def test_of_a_claim_and_an_undo_one_wins(world: World, undone_first: bool) -> None:
    request = await world.system.db.write(an_approval, **YES)

    async def claim() -> bool:
        return await world.system.db.write(approval_gate.consume, request, "mine", world.clock.at)

    if undone_first:
        assert (await undo(world, request)).status_code == 200
        assert not await claim()
    else:
        assert await claim()
        assert (await undo(world, request)).status_code == 409
    assert (await world.approval(request)).ended == ("cancelled" if undone_first else None)


async def test_a_caller_without_a_ledger_asks_anew_after_its_yes_was_taken_back(world: World) -> None:
    request = await world.system.db.write(an_approval, principal_key="token:7", **YES)
    await undo(world, request)
    call = ("token:7", "tickets_close", "close 1 at 1", world.clock.at)
    assert await world.system.db.read(approval_gate.own, *call) is None


async def test_a_ticket_that_moved_between_the_look_and_the_reopening_stays_closed(world: World) -> None:
    """The version is the reopening's own condition, and no earlier look's."""
    ticket, request = await closed(world)
    await world.change(TicketRow, ticket, version=9)
    assert (await undo(world, request)).status_code == 409
    assert (await world.ticket(ticket)).status == "closed"
