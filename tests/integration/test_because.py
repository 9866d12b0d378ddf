"""Why an agent asks, in its own words: from the call to who answers."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support import a_ticket, ago
from tests.support_tools import Depot, a_depot
from tests.world import World, a_world

pytestmark = pytest.mark.anyio


@pytest.fixture
async def depot(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Depot]:
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        yield depot


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"age_days": 12}, "No activity for 12 days (the limit is 7), and an operator spoke last."),
        (
            {"age_days": 8, "last_speaker": "none"},
            "No activity for 8 days (the limit is 7), and who spoke last is not known.",
        ),
    ],
)
async def test_the_triager_names_the_rule_by_which_it_asks(
    world: World, columns: dict[str, object], words: str
) -> None:
    await world.system.db.write(a_ticket, **columns)
    await world.sweep()
    [request] = (await world.client.get("/approvals")).json()["pending"]
    assert request["because"] == words


async def test_secrets_in_it_are_hidden_and_no_words_are_none(depot: Depot) -> None:
    said = await depot.tools.call(
        "parcels_send", {"parcel_id": 7}, because="Its label says password=hunter2, so it is late."
    )
    silent = await depot.tools.call("parcels_send", {"parcel_id": 8})
    assert (await depot.world.approval(said.request_id)).because == "Its label says password=[REDACTED], so it is late."
    assert (await depot.world.approval(silent.request_id)).because is None


async def test_the_words_are_no_part_of_the_call(depot: Depot) -> None:
    """A call that waits is not asked again for other words, and is carried out whatever they were."""
    first = await depot.tools.call("parcels_send", {"parcel_id": 7}, because="one")
    again = await depot.tools.call("parcels_send", {"parcel_id": 7}, because="other")
    assert first.request_id == again.request_id
    await depot.world.approve(first.request_id)
    assert len(depot.sent) == 1


async def test_the_rule_that_is_kept_is_that_of_the_asking(world: World) -> None:
    ticket = await world.system.db.write(a_ticket)
    await world.sweep()
    await world.run_due(hours=48)
    [request] = await world.pending()
    assert (await world.approval(request)).because == (
        "No activity for 12 days (the limit is 7), and an operator spoke last."
    )
    assert (await world.ticket(ticket)).last_activity_at == ago(12)
