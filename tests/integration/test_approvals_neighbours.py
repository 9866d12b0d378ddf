"""An answer reaches the one call it was given for, and no neighbour of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.services import tickets
from db.schema import TicketRow
from tests.support import OPERATOR, a_ticket
from tests.support_tools import Depot, a_depot, statements
from tests.world import World, awake

pytestmark = pytest.mark.anyio


@pytest.fixture
async def depot(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Depot]:
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        yield depot


async def ask_to_close(world: World, instance: str, ticket: int, version: int = 1) -> str:
    tools = awake(world.system.host, "triager", instance)._agent.tools
    result = await tools.call("tickets_close", {"ticket_id": ticket, "version": version})
    return result.request_id


@pytest.mark.parametrize("in_reverse", [False, True])
async def test_approving_one_call_runs_that_call_and_nothing_beside_it(depot: Depot, in_reverse: bool) -> None:
    world = depot.world
    first, second = [await world.system.db.write(a_ticket) for _ in range(2)]
    eu_first, eu_second = [await ask_to_close(world, "eu", ticket) for ticket in (first, second)]
    us_first = await ask_to_close(world, "us", first)
    assert len({eu_first, eu_second, us_first}) == 3
    one, other, ticket = (us_first, eu_first, first) if in_reverse else (eu_first, us_first, first)
    await world.approve(one)
    for _ in range(3):
        await world.run_due(minutes=5)
    assert [(await world.ticket(one)).status for one in (first, second)] == ["closed", "open"]
    assert (await world.ticket(ticket)).changed_by_request == one
    assert (await world.ticket(ticket)).closed_by == ("triager/us" if in_reverse else "triager/eu")
    assert set(await world.pending()) == {eu_second, other}
    await world.approve(other)  # of what is closed already
    row = await world.approval(other)
    assert (row.ended, row.ended_reason) == ("cancelled", "changed since asked")
    assert (await world.ticket(ticket)).changed_by_request == one
    assert await world.events(f"ticket:{first}") == ["approved", "closed", "approved"]


async def test_approving_one_note_sends_no_other(depot: Depot) -> None:
    asked = [await depot.send({"parcel_id": 7, "note": note}) for note in ("blue", "red")]
    await depot.world.approve(asked[1].request_id)
    assert [one.note for one in depot.sent] == ["red"]
    assert await depot.world.pending() == [asked[0].request_id]


async def test_a_yes_for_one_version_closes_no_other(depot: Depot) -> None:
    world = depot.world
    ticket = await world.system.db.write(a_ticket)
    request = await ask_to_close(world, "main", ticket)
    await world.change(TicketRow, ticket, version=2, title="Moved")
    await world.approve(request)
    assert (await world.ticket(ticket)).status == "open"
    assert (await world.approval(request)).ended_reason == "changed since asked"


async def test_a_spent_yes_for_one_ticket_does_not_close_another(depot: Depot) -> None:
    """Even if a bug sent the request id along with the wrong ticket."""
    world = depot.world
    first, second = [await world.system.db.write(a_ticket) for _ in range(2)]
    request = await ask_to_close(world, "main", first)
    await world.approve(request, wake=False)
    store = world.system.host._parts.store
    assert await store.consume(request, "mine", world.clock.at)
    closing = {"by": OPERATOR, "now": world.clock.at, "operation": request}
    with pytest.raises(tickets.Conflict):
        await world.system.db.write(tickets.close, second, 1, **closing)
    assert (await world.ticket(second)).status == "open"
    assert (await world.system.db.write(tickets.close, first, 1, **closing)).status == "closed"
    with pytest.raises(tickets.Conflict):
        await world.system.db.write(tickets.close, first, 2, **closing)


async def test_asking_to_close_a_ticket_costs_two_statements(depot: Depot) -> None:
    ticket = await depot.world.system.db.write(a_ticket)
    ran = statements(depot.world.system.db)
    await ask_to_close(depot.world, "main", ticket)
    assert [statement.split()[0] for statement in ran] == ["SELECT", "INSERT"]
