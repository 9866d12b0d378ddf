"""The main job, at the seams of the runtime: asked, answered, woken, closed once."""

from pathlib import Path

import pytest

from tests.support import a_ticket
from tests.world import a_world

pytestmark = pytest.mark.anyio


async def test_a_ticket_closes_because_a_person_said_yes(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        first = await world.system.db.write(a_ticket)
        second = await world.system.db.write(a_ticket)
        await world.system.db.write(a_ticket, age_days=1)
        assert (await world.sweep())["asked"] == 2
        yes, no = await world.pending()
        await world.approve(yes)
        await world.reject(no)
        assert (await world.ticket(first)).status == "closed"
        assert (await world.ticket(second)).status == "open"
        report = await world.report()
        assert [(one["status"], one["retried"]) for one in report["settled"]] == [
            ("approved", "ok"),
            ("rejected", None),
        ]
        assert report["declined"] == {str(second): None}
        assert report["parked"] == []
        assert await world.events(f"ticket:{first}") == ["approved", "closed"]
        last = await world.sweep()
        assert (last["open"], last["stale"], last["asked"], last["deferred"]) == (2, 1, 0, 1)


async def test_a_lost_wake_is_found_by_the_alarm(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket = await world.system.db.write(a_ticket)
        await world.sweep()
        [request] = await world.pending()
        await world.approve(request, wake=False)
        assert (await world.ticket(ticket)).status == "open"
        await world.run_due(seconds=31)
        assert (await world.ticket(ticket)).status == "closed"


async def test_a_yes_given_while_the_host_was_down_is_carried_out_at_its_start(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket = await world.system.db.write(a_ticket)
        await world.sweep()
        [request] = await world.pending()
        await world.approve(request, wake=False)
    async with a_world(tmp_path, migrated) as world:
        assert (await world.ticket(ticket)).status == "closed"
