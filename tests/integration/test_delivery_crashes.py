"""The process dies in each gap of the protocol, starts again, and nobody asks it anything: one effect, one verdict."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.runtime import steps
from app.runtime.steps import Step
from tests.support import a_ticket
from tests.support_ledger import a_parked_close, ledger_rows, parked_closes, settled
from tests.world import World, a_world

pytestmark = pytest.mark.anyio


class Killed(BaseException):
    """What no handler of the product catches."""


@contextmanager
def killed_at(step: Step, *, occurrence: int = 1) -> Iterator[None]:
    seen = []

    def hook(reached: Step) -> None:
        seen.append(reached)
        if seen.count(step) == occurrence and reached == step:
            raise Killed(step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "_hook", [hook])
        with pytest.raises(Killed):
            yield


async def ending_of(world: World, request: str, ticket: int) -> tuple[str | None, str, list[str]]:
    events = [kind for kind in await world.events(f"ticket:{ticket}") if kind == "closed"]
    return (await world.approval(request)).ended, (await world.ticket(ticket)).status, events


@pytest.mark.parametrize("step", [Step.CONSUMED, Step.DISPATCHED, Step.TOLD, Step.SETTLED])
async def test_a_yes_closes_the_ticket_once_wherever_the_process_dies(
    tmp_path: Path, migrated: Path, step: Step
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        with killed_at(step):
            await world.approve(request)
    async with a_world(tmp_path, migrated) as world:
        await world.run_due(seconds=31)
        assert await ending_of(world, request, ticket) == ("used", "closed", ["closed"])
        assert await settled(world) == [(request, "approved", "ok")]
        assert ledger_rows(world) == []


@pytest.mark.parametrize("step", [Step.CONSUMED, Step.DISPATCHED, Step.ENDED, Step.TOLD, Step.SETTLED])
async def test_a_changed_ticket_is_cancelled_once_wherever_the_process_dies(
    tmp_path: Path, migrated: Path, step: Step
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await world.client.patch(f"/tickets/{ticket}", json={"title": "Other words"})
        with killed_at(step):
            await world.approve(request)
    async with a_world(tmp_path, migrated) as world:
        await world.run_due(seconds=31)
        assert await ending_of(world, request, ticket) == ("cancelled", "open", [])
        assert await settled(world) == [(request, "cancelled", "failed")]


@pytest.mark.parametrize("step", [Step.ENDED, Step.TOLD])
async def test_an_expiry_cools_down_once_wherever_the_process_dies(tmp_path: Path, migrated: Path, step: Step) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        with killed_at(step):
            await world.run_due(hours=73)
    async with a_world(tmp_path, migrated, world.clock.at) as world:
        await world.run_due(hours=1)
        assert await settled(world) == [(request, "expired", None)]
        assert list((await world.report())["cooling"]) == [str(ticket)]


@pytest.mark.parametrize("step", [Step.INTENDED, Step.ASKED])
async def test_a_question_is_put_once_and_its_answer_is_heard_wherever_the_process_dies(
    tmp_path: Path, migrated: Path, step: Step
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket = await world.system.db.write(a_ticket)
        with killed_at(step):
            await world.sweep()
    async with a_world(tmp_path, migrated) as world:
        await world.run_due(seconds=31)
        await world.run_due(hours=1)
        [request] = await world.pending()
        await world.approve(request)
        assert (await world.ticket(ticket)).status == "closed"
        assert await settled(world) == [(request, "approved", "ok")]


async def test_an_answer_given_between_the_question_and_the_ledgers_note_is_heard(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket = await world.system.db.write(a_ticket)
        with killed_at(Step.ASKED):
            await world.sweep()
        [request] = await world.pending()
        await world.approve(request, wake=False)
    async with a_world(tmp_path, migrated) as world:
        assert (await world.ticket(ticket)).status == "closed"


@pytest.mark.parametrize("step", [Step.INTENDED, Step.ASKED])
async def test_a_sweep_that_was_cut_off_continues_the_same_run_within_its_cap(
    tmp_path: Path, migrated: Path, step: Step
) -> None:
    async with a_world(tmp_path, migrated) as world:
        tickets = [await world.system.db.write(a_ticket) for _ in range(14)]
        with killed_at(step, occurrence=4):
            await world.sweep()
    async with a_world(tmp_path, migrated) as world:
        await world.run_due(seconds=31)
        summary = await world.sweep()
        assert (summary["asked"], summary["deferred"]) == (10, 4)
        await world.run_due(seconds=60)
        assert len(await world.pending()) == 10
        assert [row["subject"] for row in ledger_rows(world)] == [f"ticket:{ticket}" for ticket in tickets[:10]]
        assert (await world.sweep())["asked"] == 4


async def test_a_run_that_is_over_is_not_continued(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await parked_closes(world, 12)
        assert len(await world.pending()) == 12
