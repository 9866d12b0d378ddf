"""What README's chapter "Make it yours" promises of the tool and the agent it adds. Run in a copy that has them."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from app.runtime.steps import Step
from app.runtime.tools.results import Denied
from db.schema import EventRow
from tests.integration.test_delivery_crashes import killed_at
from tests.support import a_ticket
from tests.support_ledger import statements
from tests.world import World, a_world, awake

pytestmark = pytest.mark.anyio


async def desk(world: World, method: str) -> Any:
    return await world.system.host.get("desk", "main").call(method)


async def a_parked_assignment(world: World) -> tuple[int, str]:
    ticket = await world.system.db.write(a_ticket)
    assert [call["became"] for call in (await desk(world, "look"))["calls"]] == ["asked"]
    [request] = await world.pending()
    return ticket, request


async def ending(world: World, ticket: int, request: str) -> tuple[str | None, str | None, int]:
    row = await world.ticket(ticket)
    return (await world.approval(request)).ended, row.assignee, row.version


async def heard(world: World) -> list[tuple[str, str, str | None]]:
    return [(one["request_id"], one["status"], one["ran"]) for one in (await desk(world, "report"))["settled"]]


async def test_a_person_is_asked_and_the_ticket_is_given_once(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_assignment(world)
        preview = (await world.approval(request)).preview
        assert preview["summary"] == 'Gives ticket 1, "Login page 500s on Safari", to Ana.'
        assert await ending(world, ticket, request) == (None, None, 1)
        assert [call["became"] for call in (await desk(world, "look"))["calls"]] == ["asked"]
        assert await world.pending() == [request]
        with capture_logs() as logs:
            await world.approve(request)
        assert statements(logs, "wake") == [3]
        assert await ending(world, ticket, request) == ("used", "Ana", 2)
        assert await heard(world) == [(request, "approved", "ok")]
        assert (await desk(world, "look"))["calls"] == []


async def test_what_was_done_stands_in_its_history_and_the_same_call_again_does_nothing(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_assignment(world)
        await world.approve(request)
        tools = awake(world.system.host, "desk", "main")._agent.tools
        again = await tools.call("tickets_assign", {"ticket_id": ticket, "version": 1, "assignee": "Ana"})
        assert isinstance(again, Denied) or again.outcome.status == 409
        assert await ending(world, ticket, request) == ("used", "Ana", 2)
        columns = (EventRow.kind, EventRow.actor, EventRow.request_id, EventRow.data)
        events = await world.system.db.read(lambda s: s.execute(select(*columns).order_by(EventRow.id)).all())
        assert events[1:] == [("tickets_assign", "agent:desk:main", request, {"assignee": "Ana", "version": 2})]


@pytest.mark.parametrize("step", [Step.CONSUMED, Step.DISPATCHED, Step.TOLD, Step.SETTLED])
async def test_a_yes_gives_the_ticket_once_wherever_the_process_dies(
    tmp_path: Path, migrated: Path, step: Step
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_assignment(world)
        with killed_at(step):
            await world.approve(request)
    async with a_world(tmp_path, migrated) as world:
        await world.run_due(seconds=31)
        assert await ending(world, ticket, request) == ("used", "Ana", 2)
        assert (await world.events(f"ticket:{ticket}")).count("tickets_assign") == 1
        assert await heard(world) == [(request, "approved", "ok")]


async def test_a_ticket_that_changed_meanwhile_is_given_to_nobody(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_assignment(world)
        await world.client.patch(f"/tickets/{ticket}", json={"title": "Other words"})
        await world.approve(request)
        assert await ending(world, ticket, request) == ("cancelled", None, 2)
        assert await heard(world) == [(request, "cancelled", "failed")]


async def test_a_no_is_heard_and_not_asked_again(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_assignment(world)
        await world.reject(request)
        assert [call["became"] for call in (await desk(world, "look"))["calls"]] == ["denied"]
        assert await ending(world, ticket, request) == ("rejected", None, 1)
        assert await world.pending() == []


async def test_a_page_of_calls_that_are_all_refused_fits_into_one_turn(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        for _ in range(15):
            await world.system.db.write(a_ticket)
        assert len((await desk(world, "look"))["calls"]) == 15
        for request in await world.pending():
            await world.reject(request)
        with capture_logs() as logs:
            assert {call["became"] for call in (await desk(world, "look"))["calls"]} == {"denied"}
        assert statements(logs, "look") == [1 + 3 * 15]


async def test_a_person_may_use_the_route_at_once_and_the_triager_may_not(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket = await world.system.db.write(a_ticket)
        answers = [
            (await world.client.post(f"/tickets/{ticket}/assign", json={"version": 1, "assignee": "Bo"})).status_code
            for _ in range(2)
        ]
        assert (answers, (await world.ticket(ticket)).assignee) == ([200, 409], "Bo")
        assert await world.events(f"ticket:{ticket}") == ["tickets_assign"]
        tools = awake(world.system.host, "triager", "main")._agent.tools
        refused = await tools.call("tickets_assign", {"ticket_id": ticket, "version": 2, "assignee": "Ana"})
        assert isinstance(refused, Denied)
