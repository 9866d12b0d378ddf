"""Tickets that move while a question about them waits: the next sweep takes it back, says why, and may ask anew."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from db.schema import TicketRow
from tests.support import ago
from tests.support_ledger import settled
from tests.support_sweep import asked, queue, reasons, swept, words
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

Request = tuple[str, str, dict[str, Any]]  # method, what of the ticket, body
MOOT: dict[str, tuple[Request, str]] = {
    "closed by a person": (("POST", "/close", {"version": 1}), "it is closed"),
    "an operator's word": (("POST", "/comments", {"body": "Looking."}), "active 2026-03-09 13:00 UTC"),
    "the requester's word": (("POST", "/comments", {"body": "Hello?", "speaker": "requester"}), "active 2026-03-09"),
    "protected": (("PATCH", "", {"protected_until": ago(-30)}), "protected until 2026-04-08 12:00 UTC"),
    "an exempt label": (("PATCH", "", {"labels": ["keep-open"]}), 'the label "keep-open" is exempt'),
    "an exempt priority": (("PATCH", "", {"priority": "urgent"}), "priority urgent is exempt"),
    "another title": (("PATCH", "", {"title": "Other words"}), "it has changed since it was asked"),
}
THE_SAME: dict[str, Request] = {
    "a note": ("POST", "/comments", {"body": "They called.", "public": False}),
    "a label": ("PATCH", "", {"labels": ["bug"]}),
    "another priority": ("PATCH", "", {"priority": "low"}),
    "an assignee": ("PATCH", "", {"assignee": "Jo"}),
}


async def happens(world: World, ticket: int, request: Request) -> None:
    method, what, body = request
    answer = await world.client.request(method, f"/tickets/{ticket}{what}", json=body)
    assert answer.is_success, answer.text


async def request_of(world: World, ticket: int) -> str:
    waiting = {row["subject"]: row["request_id"] for row in (await world.report())["parked"]}
    return str(waiting[f"ticket:{ticket}"])


@pytest.mark.parametrize(("change", "reason"), MOOT.values(), ids=MOOT)
@pytest.mark.parametrize("longer", [False, True], ids=["within the stretch", "behind the place of the pass"])
async def test_a_question_that_became_moot_is_taken_back_and_the_ticket_told_why(
    tmp_path: Path, migrated: Path, change: Request, reason: str, longer: bool
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 22 if longer else 5)
        assert 3 in await swept(world)
        request = await request_of(world, 3)
        await happens(world, 3, change)
        assert 3 not in await swept(world)
        assert words(world)[3] == "withdraw"
        assert reasons(world)[3].startswith(reason)
        stands = await world.approval(request)
        assert (stands.ended, stands.decision) == ("cancelled", None)
        assert str(stands.ended_reason).startswith("withdrawn")
        assert (await world.events("ticket:3"))[-1] == "withdrawn"
        assert request not in await world.pending()
        await world.run_due(seconds=2)
        assert await settled(world) == [(request, "cancelled", None)]
        assert "ticket:3" not in [row["subject"] for row in (await world.report())["parked"]]


@pytest.mark.parametrize("change", THE_SAME.values(), ids=THE_SAME)
async def test_what_no_decision_rests_on_takes_nothing_back(tmp_path: Path, migrated: Path, change: Request) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 3)
        await swept(world)
        before = await world.pending()
        await happens(world, 2, change)
        await swept(world)
        assert words(world) == dict.fromkeys((1, 2, 3), "waiting")
        assert await world.pending() == before


async def test_a_ticket_with_other_words_is_asked_about_anew_at_its_new_version(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 3)
        await swept(world)
        old = await request_of(world, 2)
        await happens(world, 2, MOOT["another title"][0])
        assert await swept(world) == []
        await world.run_due(seconds=2)
        assert await swept(world) == [2]
        new = await request_of(world, 2)
        assert new != old
        await world.approve(new)
        assert (await world.ticket(2)).status == "closed"


async def test_a_ticket_that_was_approved_from_an_old_page_is_looked_at_again(tmp_path: Path, migrated: Path) -> None:
    """Nothing closes; the request ends; the next sweep asks at the version the ticket has now."""
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 1)
        await swept(world)
        request = await request_of(world, 1)
        await happens(world, 1, MOOT["another title"][0])
        await world.approve(request)
        assert (await world.ticket(1)).status == "open"
        stands = await world.approval(request)
        assert (stands.ended, stands.ended_reason) == ("cancelled", "changed since asked")
        assert await settled(world) == [(request, "cancelled", "failed")]
        assert await swept(world) == [1]
        assert (await world.approval(await request_of(world, 1))).input == {"ticket_id": 1, "version": 2}


async def test_a_question_about_a_ticket_that_is_no_more_is_taken_back(tmp_path: Path, migrated: Path) -> None:
    """No door deletes a ticket; a restored backup may lack one."""
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 2)
        await swept(world)
        request = await request_of(world, 2)
        await world.system.db.write(lambda s: s.execute(delete(TicketRow).filter_by(id=2)) and None)
        await swept(world)
        assert words(world) == {1: "waiting", 2: "withdraw"}
        assert reasons(world)[2] == "there is no such ticket any more"
        assert (await world.approval(request)).ended == "cancelled"


async def test_what_is_reopened_is_not_asked_about_before_it_is_stale_again(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 1)
        await swept(world)
        await world.approve(await request_of(world, 1))
        await happens(world, 1, ("POST", "/reopen", {}))
        assert [await swept(world, hours) for hours in (1, 6 * 24, 25)] == [[], [], [1]]
        assert await asked(world) == [1, 1]
