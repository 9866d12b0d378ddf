"""What becomes of a call that waited: one verdict, at most one effect, and a hook that hears of it."""

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.runtime.durable.delivery import next_move
from app.runtime.tools.approvals import Approval
from config.agents import AGENTS
from db.schema import ApprovalRow, TicketRow
from tests.support import a_ticket, ago
from tests.support_ledger import a_parked_close, ledger_rows, parked_closes, settled, statements
from tests.world import a_world, awake

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("status", "move"),
    [
        ("pending", "keep"),
        ("lapsed", "lapse"),
        ("approved", "retry"),
        ("spent", "retry"),
        *((ended, "tell") for ended in ("used", "rejected", "expired", "cancelled", "unknown")),
    ],
)
def test_the_status_says_what_a_row_needs(status: Any, move: str) -> None:
    as_it_stands = Approval("id", status, ago(0), False, None, None, ago(1), None)
    assert next_move(as_it_stands) == move


def test_a_call_without_an_approval_row_is_fenced_off() -> None:
    assert next_move(None) == "fence"


async def test_nobody_answers_the_ticket_stays_open_and_is_left_alone_for_a_day(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await world.run_due(hours=72, seconds=5)
        assert await settled(world) == [(request, "expired", None)]
        assert (await world.approval(request)).ended == "expired"
        assert (await world.ticket(ticket)).status == "open"
        assert ledger_rows(world) == []
        world.clock.advance(hours=23, minutes=59)
        assert (await world.sweep())["asked"] == 0
        world.clock.advance(minutes=1)
        assert (await world.sweep())["asked"] == 1


async def test_a_no_that_is_found_after_the_window_is_still_a_no(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        world.clock.advance(hours=71)
        await world.reject(request, wake=False)
        await world.run_due(hours=30)
        assert await settled(world) == [(request, "rejected", None)]
        assert (await world.report())["declined"] == {str(ticket): None}


async def test_a_yes_is_good_for_a_day_and_not_a_moment_longer(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        (in_time, late), requests = await parked_closes(world, 2)
        for request in requests:
            await world.approve(request, wake=False)
        await world.change(ApprovalRow, requests[1], use_by=ago(0))
        await world.run_due(hours=23, minutes=59)
        assert (await world.ticket(in_time)).status == "closed"
        assert (await world.ticket(late)).status == "open"
        assert await settled(world) == [(requests[0], "approved", "ok"), (requests[1], "expired", None)]


async def test_a_ticket_that_was_edited_between_the_question_and_the_yes_stays_open(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await world.client.patch(f"/tickets/{ticket}", json={"title": "Login page 500s everywhere"})
        with capture_logs() as logs:
            await world.approve(request)
        assert statements(logs, "wake") == [4]
        approval = await world.approval(request)
        assert (approval.decision, approval.ended, approval.ended_reason) == (
            "approved",
            "cancelled",
            "changed since asked",
        )
        assert (await world.ticket(ticket)).status == "open"
        assert await settled(world) == [(request, "cancelled", "failed")]


async def test_a_ticket_that_somebody_closed_meanwhile_is_not_closed_again(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        assert (await world.client.post(f"/tickets/{ticket}/close", json={"version": 1})).status_code == 200
        await world.approve(request)
        assert await settled(world) == [(request, "cancelled", "failed")]
        assert (await world.ticket(ticket)).changed_by_request is None


async def test_a_scope_that_was_taken_away_before_the_yes_refuses_the_call(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await world.approve(request, wake=False)
    monkeypatch.setitem(AGENTS["triager"], "scopes", ["tool:tickets_index"])
    async with a_world(tmp_path, migrated) as world:
        assert await settled(world) == [(request, "cancelled", None)]
        approval = await world.approval(request)
        assert (approval.ended, approval.consumed_at) == ("cancelled", None)
        assert "refused: agent:triager:main may not call" in (approval.ended_reason or "")
        assert (await world.ticket(ticket)).status == "open"


async def test_twenty_five_answers_at_once_are_ten_a_turn_and_the_rest_within_seconds(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        tickets, requests = await parked_closes(world, 25)
        for request in requests:
            await world.approve(request, wake=False)
        closed = []
        with capture_logs() as logs:
            for seconds in (31, 1, 1):
                await world.run_due(seconds=seconds)
                closed.append(sum([(await world.ticket(ticket)).status == "closed" for ticket in tickets]))
        assert closed == [10, 20, 25]
        assert statements(logs, "deliver") == [21, 21, 11]
        assert ledger_rows(world) == []


async def test_more_calls_than_one_turn_can_end_go_on_in_the_next(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        for _ in range(5):
            await parked_closes(world, 10)
            world.clock.advance(seconds=30)  # or the budget refuses some
        for row in ledger_rows(world):
            await world.change(ApprovalRow, row["request_id"], expires_at=ago(1))
        with capture_logs() as logs:
            await world.run_due(seconds=1)
            await world.run_due(seconds=1)
        assert statements(logs, "deliver") == [46, 6]
        assert ledger_rows(world) == []


async def test_what_a_turn_costs(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        _, [one, two, three, refused, lapsed] = await parked_closes(world, 5)
        triager = awake(world.system.host, "triager", "main")
        for request in (one, two, three):
            await world.approve(request, wake=False)
        await world.reject(refused, wake=False)
        await world.change(ApprovalRow, lapsed, expires_at=ago(1))
        with capture_logs() as logs:
            for requests in ([one], [two, three], [refused], [lapsed], [one]):
                await triager.wake(requests, None)
        assert statements(logs, "wake") == [3, 5, 1, 2]  # what is settled already costs nothing
        assert len(await settled(world)) == 5


async def test_an_answered_call_of_a_deleted_ticket_is_refused(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await world.system.db.write(lambda s: s.delete(s.get(TicketRow, ticket)))
        await world.approve(request)
        assert await settled(world) == [(request, "cancelled", "failed")]


async def test_waiting_costs_one_statement_and_less_and_less_often(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await world.system.db.write(a_ticket)
        await world.sweep()
        with capture_logs() as logs:
            for _ in range(12):
                at = ledger_rows(world)[0]["next_check_at"]
                world.clock.at = type(world.clock.at).fromisoformat(at)
                await world.run_due()
        assert set(statements(logs, "deliver")) == {1}
        assert ledger_rows(world)[0]["checks"] == 12
