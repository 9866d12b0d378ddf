"""The triager on the whole product: what a sweep reports, remembers, takes back, and costs."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.agents.triager import SETTLED_KEPT
from app.runtime.principal import Principal
from config.agents import AGENTS
from tests.support import NOW, a_ticket, ago
from tests.support_host import private
from tests.support_ledger import a_parked_close, ledger_rows, parked_closes, settled, statements
from tests.world import World, a_world, awake

pytestmark = pytest.mark.anyio


async def tickets(world: World, count: int, **columns: Any) -> list[int]:
    return [await world.system.db.write(a_ticket, **columns) for _ in range(count)]


def adds_up(summary: dict[str, Any]) -> bool:
    done = sum(summary[name] for name in ("asked", "closed", "refused", "deferred"))
    return bool(summary["stale"] == done)


async def test_it_sweeps_every_hour_of_its_own_accord(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await tickets(world, 1)
        await world.run_due(minutes=59)
        assert await world.pending() == []
        await world.run_due(minutes=1)
        assert len(await world.pending()) == 1
        assert (await world.report())["last_run_at"] == "2026-03-09T13:00:00.000Z"


async def test_a_ticket_is_stale_after_seven_days_without_activity_and_not_a_moment_sooner(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await world.system.db.write(a_ticket, last_activity_at=ago(7))
        just = await world.system.db.write(a_ticket, last_activity_at=ago(7, NOW - timedelta(milliseconds=1)))
        summary = await world.sweep()
        assert (summary["open"], summary["stale"], summary["asked"]) == (2, 1, 1)
        assert [row["subject"] for row in ledger_rows(world)] == [f"ticket:{just}"]


async def test_a_requester_who_waits_for_us_counts_as_stale_and_is_deferred(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        for speaker in ("requester", "operator", "none"):
            await tickets(world, 1, last_speaker=speaker)
        summary = await world.sweep()
        assert (summary["stale"], summary["asked"], summary["deferred"]) == (3, 2, 1)


async def test_a_sweep_of_ten_questions_spends_twenty_one_statements(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await tickets(world, 12)
        with capture_logs() as logs:
            summaries = [await world.sweep() for _ in range(3)]
        assert [summary["asked"] for summary in summaries] == [10, 2, 0]
        assert all(map(adds_up, summaries))
        assert statements(logs, "sweep") == [21, 6, 1]  # the second looks again at what waits outside its stretch


async def test_more_stale_tickets_than_one_page_holds_are_all_seen(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await tickets(world, 105, last_speaker="requester")
        last = await world.system.db.write(a_ticket)
        with capture_logs() as logs:
            summary = await world.sweep()
        assert (summary["stale"], summary["asked"]) == (106, 1)
        assert [row["subject"] for row in ledger_rows(world)] == [f"ticket:{last}"]
        assert statements(logs, "sweep") == [4]


async def test_a_question_about_a_ticket_that_changed_is_taken_back_by_the_next_sweep_and_asked_anew(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        (edited, active, kept), (first, second, third) = await parked_closes(world, 3)
        await world.client.patch(f"/tickets/{edited}", json={"title": "Other words"})
        await world.client.post(f"/tickets/{active}/comments", json={"body": "Looking into it.", "public": True})
        with capture_logs() as logs:
            await world.sweep()
        assert statements(logs, "sweep") == [4]
        assert await world.pending() == [third]
        for request, ticket in ((first, edited), (second, active)):
            assert (await world.approval(request)).ended == "cancelled"
            assert "withdrawn" in await world.events(f"ticket:{ticket}")
        await world.run_due(seconds=31)
        assert await settled(world) == [(first, "cancelled", None), (second, "cancelled", None)]
        assert (await world.sweep())["asked"] == 1
        assert [row["subject"] for row in ledger_rows(world)] == [f"ticket:{kept}", f"ticket:{edited}"]


async def test_an_answered_yes_about_a_changed_ticket_is_not_acted_on_after_the_sweep_took_it_back(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await world.client.patch(f"/tickets/{ticket}", json={"title": "Other words"})
        await world.approve(request, wake=False)
        await world.sweep()
        await world.run_due(seconds=31)
        assert (await world.ticket(ticket)).status == "open"
        assert await settled(world) == [(request, "cancelled", None)]


async def test_a_no_with_a_date_ends_there(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        _, request = await a_parked_close(world)
        await world.reject(request, until_at=ago(-2))
        asked = []
        for hours in (1, 46, 1):
            world.clock.advance(hours=hours)
            asked.append((await world.sweep())["asked"])
        assert asked == [0, 0, 1]


async def test_a_no_that_the_agent_forgot_is_met_again_once_and_remembered(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await world.reject(request)
        awake(world.system.host, "triager", "main")._agent.set_state(type(world_state(world))())
        first, second = await world.sweep(), await world.sweep()
        assert (first["asked"], first["refused"], adds_up(first)) == (0, 1, True)
        assert (second["refused"], second["deferred"]) == (0, 1)
        assert (await world.report())["declined"] == {str(ticket): None}
        assert await world.pending() == []


def world_state(world: World) -> Any:
    return awake(world.system.host, "triager", "main")._agent.state


async def test_a_sweep_that_cannot_list_says_why_and_takes_nothing_back(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world(tmp_path, migrated) as world:
        _, request = await a_parked_close(world)
    monkeypatch.setitem(AGENTS["triager"], "scopes", ["tool:tickets_close"])
    async with a_world(tmp_path, migrated) as world:
        summary = await world.sweep()
        assert 'may not call "tickets_index"' in summary.pop("error")
        assert summary.pop("at") == "2026-03-09T12:00:00.000Z"
        assert set(summary.values()) == {0}
        assert await world.pending() == [request]


async def test_a_budget_that_ends_within_a_sweep_leaves_the_rest_to_the_next(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(AGENTS["triager"], "calls_per_minute", 4)
    async with a_world(tmp_path, migrated) as world:
        await tickets(world, 5)
        summary = await world.sweep()
        assert (summary["asked"], summary["refused"], summary["deferred"], adds_up(summary)) == (3, 0, 2, True)
        world.clock.advance(minutes=1, seconds=1)
        assert (await world.sweep())["asked"] == 2


async def test_each_instance_asks_in_its_own_name(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket = await world.system.db.write(a_ticket)
        await world.system.host.get("triager", "night:shift").call("sweep")
        [request] = await world.pending()
        assert (await world.approval(request)).principal_key == Principal.agent("triager", "night:shift").key
        await world.approve(request)
        assert (await world.ticket(ticket)).status == "closed"
        assert ledger_rows(world) == []


async def test_only_the_last_twenty_outcomes_are_kept(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        _, requests = await parked_closes(world, SETTLED_KEPT + 2)
        for request in requests:
            await world.approve(request)
        assert [request for request, *_ in await settled(world)] == requests[2:]


async def test_a_state_from_before_a_field_existed_is_read_with_its_default(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        private(world.system.host, "triager", "main", """INSERT INTO state VALUES (1, '{"declined": {"7": null}}')""")
    async with a_world(tmp_path, migrated) as world:
        report = await world.report()
        assert (report["declined"], report["cooling"], report["settled"]) == ({"7": None}, {}, [])
