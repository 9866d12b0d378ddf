"""`kill -9` in every gap of the protocol, in a real process, and a real start afterwards: the books stay right."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from app.runtime.instants import utc_now
from app.runtime.steps import Step
from tests.acceptance.server import agent_state, furnish, on_disk, serving, until
from tests.world import a_world

CLOSED = "SELECT subject FROM events WHERE kind = 'closed'"
SWEEP = "/ops/agents/triager/sweep"


@pytest.fixture
def folder(tmp_path: Path, migrated: Path) -> Path:
    """An installation with two stale tickets."""
    return furnish(tmp_path, migrated, 2)


@pytest.mark.parametrize("step", [Step.WOKEN, Step.CONSUMED])
def test_killed_between_a_yes_and_its_effect_the_next_start_carries_it_out(folder: Path, step: Step) -> None:
    with serving(folder, dies_at=step) as server:
        server.post(SWEEP)
        server.dies(f"/approvals/{server.pending()[0]}/approve", {})
    assert on_disk(folder, CLOSED) == []
    with serving(folder):  # and no request is made
        until(lambda: agent_state(folder).get("settled"))
    assert_closed_once(folder)


@pytest.mark.parametrize("step", [Step.DISPATCHED, Step.TOLD])
def test_killed_between_the_effect_and_its_settlement_the_alarm_settles_it(
    folder: Path, migrated: Path, step: Step
) -> None:
    with serving(folder, dies_at=step) as server:
        server.post(SWEEP)
        server.dies(f"/approvals/{server.pending()[0]}/approve", {})
    assert on_disk(folder, CLOSED) == [("ticket:1",)]
    asyncio.run(half_a_minute_later(folder, migrated, sweep=False))
    assert_closed_once(folder)


def assert_closed_once(folder: Path) -> None:
    assert on_disk(folder, CLOSED) == [("ticket:1",)]
    assert on_disk(folder, "SELECT status FROM tickets ORDER BY id") == [("closed",), ("open",)]
    assert on_disk(folder, "SELECT ended FROM approvals ORDER BY rowid") == [("used",), (None,)]
    state = agent_state(folder)
    assert [(one["status"], one["retried"]) for one in state["settled"]] == [("approved", "ok")]
    assert state["waiting"] == 1  # the other request, unanswered


async def half_a_minute_later(folder: Path, migrated: Path, *, sweep: bool) -> dict[str, int]:
    """A start when the first alarm is due; entering the world runs what is due."""
    async with a_world(folder, migrated, utc_now() + timedelta(seconds=31)) as world:
        return await world.sweep() if sweep else {}


def test_killed_before_anybody_was_asked_the_next_sweep_asks(folder: Path, migrated: Path) -> None:
    with serving(folder, dies_at=Step.INTENDED) as server:
        server.dies(SWEEP)
    assert on_disk(folder, "SELECT count(*) FROM approvals") == [(0,)]
    assert agent_state(folder)["waiting"] == 1
    assert asyncio.run(half_a_minute_later(folder, migrated, sweep=True))["asked"] == 2
    assert on_disk(folder, "SELECT subject, ended FROM approvals ORDER BY rowid") == [
        ("", "cancelled"),  # the tombstone under the id that was never asked
        ("ticket:1", None),
        ("ticket:2", None),
    ]


def test_killed_once_people_were_asked_their_answer_is_carried_out(folder: Path) -> None:
    with serving(folder, dies_at=Step.ASKED) as server:
        server.dies(SWEEP)
    with serving(folder) as server:
        [request] = server.pending()
        server.post(f"/approvals/{request}/approve", {})
        until(lambda: agent_state(folder).get("settled"))
        swept = server.post(SWEEP)["swept"]
    assert on_disk(folder, CLOSED) == [("ticket:1",)]
    assert swept["asked"] == 1
    assert on_disk(folder, "SELECT subject, ended FROM approvals ORDER BY rowid") == [
        ("ticket:1", "used"),
        ("ticket:2", None),
    ]
