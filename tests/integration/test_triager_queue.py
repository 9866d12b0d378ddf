"""What must not hold up a sweep: calls that cannot be read, and questions that were taken back."""

import base64
from pathlib import Path

import pytest

from db.schema import TicketRow
from tests.support import a_ticket
from tests.world import a_world

pytestmark = pytest.mark.anyio


async def test_calls_that_no_key_opens_leave_the_rest_of_the_queue_to_the_sweep(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        for _ in range(10):
            await world.system.db.write(a_ticket)
        assert (await world.sweep())["asked"] == 10
    other_key = base64.b64encode(b"o" * 32).decode()
    async with a_world(tmp_path, migrated, app_key=other_key) as world:
        for _ in range(5):
            await world.system.db.write(a_ticket)
        world.clock.advance(minutes=2)
        swept = await world.sweep()
        assert (swept["stale"], swept["asked"], swept["deferred"]) == (15, 5, 10)
        assert len(await world.pending()) == 15


async def test_a_ticket_whose_question_was_taken_back_is_asked_about_again_by_the_next_sweep(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket = await world.system.db.write(a_ticket)
        await world.sweep()
        await world.change(TicketRow, ticket, version=2, title="Another title")
        assert (await world.sweep())["asked"] == 0
        await world.run_due(seconds=2)
        assert (await world.sweep())["asked"] == 1
