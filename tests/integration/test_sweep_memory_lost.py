"""A person's no outlives the agent's own file, and whatever else has become of the ticket."""

from pathlib import Path

import pytest

from app.runtime.durable.storage import file_of
from tests.support_sweep import asked, queue, reasons, swept, words
from tests.world import a_world

pytestmark = pytest.mark.anyio


async def test_an_agent_that_lost_its_file_is_refused_about_a_changed_ticket_and_remembers_it(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 2)
        assert await swept(world) == [1, 2]
        await world.reject((await world.pending())[0])
        assert await swept(world) == []
        at = world.clock.at
    file = tmp_path / "agents" / file_of("triager", "main")
    for one in file.parent.glob(f"{file.name}*"):
        one.unlink()
    async with a_world(tmp_path, migrated, at) as world:
        await world.client.patch("/tickets/1", json={"title": "Other words"})
        assert (await world.report())["declined"] == {}
        assert (await world.ticket(1)).version == 2
        await swept(world)
        assert words(world)[1] == "refused"
        assert "A person has rejected" in reasons(world)[1]
        assert (await world.report())["declined"] == {"1": None}
        assert await swept(world) == []
        assert words(world)[1] == "declined"
        assert await asked(world) == [1, 2]
