"""A dry run uses no call up, stops for no brake, and knows of the run that a crash has left unfinished."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.runtime import steps
from app.runtime.durable.storage import file_of
from app.runtime.errors import Halted
from app.runtime.steps import Step
from config.agents import AGENTS
from tests.support_brakes import halt, resume
from tests.support_sweep import asked, kept_verdicts, queue
from tests.world import World, a_world

pytestmark = pytest.mark.anyio


class Cut(BaseException):
    """The process is gone."""


async def dry_run(world: World) -> Any:
    return await world.system.host.get("triager", "main").call("plan")


def contents(world: World) -> list[list[str]]:
    """Every row of every table, the agent's own too."""
    folder = world.system.settings.data_dir
    found = []
    for name in ("triager.sqlite", f"agents/{file_of('triager', 'main')}", "agents/alarms.sqlite"):
        with closing(sqlite3.connect(folder / name)) as connection:
            found.append(list(connection.iterdump()))
    return found


async def test_however_many_dry_runs_leave_the_sweep_its_calls(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 10)
        for _ in range(AGENTS["triager"]["calls_per_minute"] + 10):
            assert (await dry_run(world))["error"] is None
        summary = await world.sweep()
        assert (summary["asked"], summary["error"]) == (10, None)


async def test_a_dry_run_tells_the_plan_although_the_sweep_has_used_up_its_calls(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(AGENTS["triager"], "calls_per_minute", 5)
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 10)
        assert (await world.sweep())["asked"] == 4
        assert "calls in" in ((await world.sweep())["error"] or "")
        assert [one["verdict"] for one in (await dry_run(world))["verdicts"]] == ["ask"] * 6 + ["waiting"] * 4


@pytest.mark.parametrize("agent", [None, "triager"], ids=["every agent", "the triager"])
async def test_while_halted_a_dry_run_tells_the_plan_and_changes_nothing(
    tmp_path: Path, migrated: Path, agent: str | None
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 12)
        await halt(world, agent)
        before = contents(world)
        plan = await dry_run(world)
        assert (plan["open"], plan["stale"], plan["error"]) == (12, 12, None)
        assert [one["verdict"] for one in plan["verdicts"]] == ["ask"] * 10 + ["later"] * 2
        assert contents(world) == before
        with pytest.raises(Halted):
            await world.sweep()
        assert await asked(world) == []
        await resume(world, agent)
        assert (await world.sweep())["asked"] == 10


@pytest.mark.parametrize("questions", [0, 3])
async def test_after_a_sweep_that_was_cut_off_a_dry_run_says_what_the_repeated_one_does(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, questions: int
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await queue(world, 1, 15)
        cut_off(monkeypatch, questions)
        with pytest.raises(Cut):
            await world.sweep()
        monkeypatch.undo()
    async with a_world(tmp_path, migrated) as world:
        assert len(await asked(world)) == questions
        said = (await dry_run(world))["verdicts"]
        assert (await dry_run(world))["verdicts"] == said
        await world.sweep()
        became = {"ask": "asked"}
        done = kept_verdicts(world)[-1]
        assert [one | {"verdict": became.get(one["verdict"], one["verdict"])} for one in said] == done
        assert [one["verdict"] for one in done] == ["asked"] * 10 + ["later"] * 5
        assert await asked(world) == list(range(1, 11))


def cut_off(monkeypatch: pytest.MonkeyPatch, questions: int) -> None:
    """The process ends once its run has taken its tickets and put so many questions."""
    seen: list[Step] = []

    def hook(step: Step) -> None:
        seen.append(step)
        if seen.count(Step.RUN) == 2 and seen.count(Step.ASKED) == questions:
            raise Cut

    monkeypatch.setattr(steps, "_hook", [hook])
