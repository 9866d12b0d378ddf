"""A question that cannot be taken back although its ticket has changed is not said to be."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.runtime import steps
from app.runtime.steps import Step
from tests.support import ago
from tests.support_brakes import release
from tests.support_sweep import queue, reasons, swept, words
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

HELD = "it should be taken back, but has ended or been answered, or is halted"


def halts_once(world: World, step: Step) -> Callable[[Step], None]:
    """As another process halts every agent, right after this step."""
    left = [step]

    def hook(reached: Step) -> None:
        if reached in left:
            left.clear()
            with closing(sqlite3.connect(world.system.settings.database)) as connection, connection:
                row = ("*", "Ops On-Call", ago(0, world.clock.at), "a leak")
                connection.execute('INSERT INTO brakes (agent, "by", at, note) VALUES (?, ?, ?, ?)', row)

    return hook


async def moot_question(world: World) -> str:
    await queue(world, 1, 1)
    await swept(world)
    [request] = await world.pending()
    await world.client.patch("/tickets/1", json={"title": "Other words"})
    return request


async def test_a_brake_right_after_the_run_began_leaves_the_question_and_the_verdict_says_so(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_world(tmp_path, migrated) as world:
        request = await moot_question(world)
        monkeypatch.setattr(steps, "_hook", [halts_once(world, Step.RUN)])
        await swept(world)
        assert (await world.approval(request)).ended is None
        assert (words(world), reasons(world)) == ({1: "waiting"}, {1: HELD})
        monkeypatch.undo()
        await release(world)
        await swept(world)
        assert (words(world)[1], (await world.approval(request)).ended) == ("withdraw", "cancelled")


async def test_a_no_that_the_agent_has_not_heard_of_yet_is_not_taken_back(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        request = await moot_question(world)
        await world.reject(request, wake=False)
        await swept(world, hours=0)
        assert (words(world), reasons(world)) == ({1: "waiting"}, {1: HELD})
        assert (await world.approval(request)).ended == "rejected"


async def test_a_question_is_taken_back_once_although_the_agent_has_not_heard_of_it_by_the_next_sweep(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        request = await moot_question(world)
        told = []
        for _ in range(2):
            await swept(world, hours=0)
            told.append((words(world)[1], reasons(world)[1]))
        assert told == [("withdraw", "it has changed since it was asked"), ("waiting", HELD)]
        assert (await world.events("ticket:1")).count("withdrawn") == 1
        assert (await world.approval(request)).ended == "cancelled"


async def test_of_several_that_are_moot_each_is_told_as_it_went(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 2)
        await swept(world)
        first, second = await world.pending()
        for ticket in (1, 2):
            await world.client.patch(f"/tickets/{ticket}", json={"title": "Other words"})
        await world.reject(first, wake=False)
        await swept(world, hours=0)
        assert words(world) == {1: "waiting", 2: "withdraw"}
        assert (await world.approval(second)).ended == "cancelled"
