"""A caller without a ledger asks for a gated call, and repeats it: its own approval rows answer."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert

from app.auth import signed_in
from app.runtime import steps
from app.runtime.principal import Principal
from app.runtime.steps import Step, on_reached
from app.runtime.tools.agent_route import post
from app.runtime.tools.budget import Meter
from app.runtime.tools.pipeline import Caller
from app.runtime.tools.results import Denied, Done, Pending
from db.schema import BrakeRow, TicketRow
from routes import HANDLERS
from tests.support import a_ticket, ago
from tests.world import World, a_world

pytestmark = pytest.mark.anyio
CLOSE = ("tool:tickets_close",)


class Program:
    """A tools token's holder, which keeps nothing but the id of the ticket that it wants closed."""

    def __init__(self, world: World, ticket_id: int, name: str = "desk") -> None:
        self.world, self.ticket_id = world, ticket_id
        self.caller = Caller(Principal("token", name, name), CLOSE, Meter(1_000), parking=None)

    async def close(self, version: int = 1) -> Any:
        pipeline = self.world.system.pipeline
        return await pipeline.invoke(self.caller, "tickets_close", {"ticket_id": self.ticket_id, "version": version})

    async def ask(self) -> str:
        pending = await self.close()
        assert isinstance(pending, Pending)
        return pending.request_id


@pytest.fixture
async def program(tmp_path: Path, migrated: Path, anyio_backend: str) -> AsyncIterator[Program]:
    async with a_world(tmp_path, migrated) as world:
        yield Program(world, await world.system.db.write(a_ticket))


class Killed(BaseException):
    """What stands for `kill -9`: nothing after it runs."""


@contextmanager
def dies_at(step: Step) -> Iterator[None]:
    def die(reached: Step) -> None:
        if reached is step:
            raise Killed

    on_reached(die)
    try:
        with pytest.raises(Killed):
            yield
    finally:
        steps._hook.remove(die)


async def closed(program: Program) -> int:
    """How often the ticket was closed."""
    return (await program.world.events(f"ticket:{program.ticket_id}")).count("closed")


async def test_a_call_that_was_approved_runs_when_it_is_repeated_and_then_says_so(program: Program) -> None:
    request_id = await program.ask()
    assert await program.ask() == request_id
    await program.world.approve(request_id)
    assert await closed(program) == 0
    done = await program.close()
    assert isinstance(done, Done)
    assert done.outcome.body["status"] == "closed"
    repeated = await program.close()
    assert repeated.outcome.body["status"] == "used"
    assert repeated.outcome.body["request_id"] == request_id
    assert await closed(program) == 1
    assert (await program.world.approval(request_id)).ended == "used"
    assert await program.world.pending() == []


async def test_five_repeats_of_a_pending_call_ask_once(program: Program) -> None:
    assert len({await program.ask() for _ in range(5)}) == 1
    assert len(await program.world.pending()) == 1


@pytest.mark.parametrize("step", [Step.ASKED, Step.CONSUMED, Step.DISPATCHED])
async def test_a_repeat_finishes_what_a_crash_cut_off(program: Program, step: Step) -> None:
    if step is not Step.ASKED:
        await program.world.approve(await program.ask())
    with dies_at(step):
        await program.close()
    if step is Step.ASKED:
        await program.world.approve(await program.ask())
    result = await program.close()
    assert isinstance(result, Done)
    assert result.outcome.body["status"] == ("used" if step is Step.DISPATCHED else "closed")
    assert await closed(program) == 1
    assert await program.world.pending() == []


async def test_a_spent_call_that_nobody_repeats_for_a_day_is_given_up_and_asked_anew(program: Program) -> None:
    request_id = await program.ask()
    await program.world.approve(request_id)
    with dies_at(Step.CONSUMED):
        await program.close()
    program.world.clock.advance(hours=24)
    given_up = await program.close()
    assert isinstance(given_up, Denied)
    assert (await program.world.approval(request_id)).ended == "cancelled"
    assert await closed(program) == 0
    assert await program.ask() != request_id


async def test_a_spent_call_is_finished_just_within_the_day(program: Program) -> None:
    await program.world.approve(await program.ask())
    with dies_at(Step.CONSUMED):
        await program.close()
    program.world.clock.advance(hours=23, minutes=59)
    assert (await program.close()).outcome.body["status"] == "closed"


async def test_a_rejected_call_is_refused_and_not_asked_again(program: Program) -> None:
    request_id = await program.ask()
    await program.world.reject(request_id)
    refused = await program.close()
    assert isinstance(refused, Denied)
    assert refused.rejected
    assert await program.world.pending() == []


@pytest.mark.parametrize("answered", [False, True])
async def test_a_call_whose_time_is_over_is_asked_anew(program: Program, answered: bool) -> None:
    request_id = await program.ask()
    if answered:
        await program.world.approve(request_id)
    program.world.clock.advance(hours=72)
    assert await program.ask() != request_id
    assert (await program.world.approval(request_id)).ended == "expired"
    assert await closed(program) == 0


async def test_a_ticket_that_changed_since_is_not_closed_and_the_call_not_asked_again(program: Program) -> None:
    request_id = await program.ask()
    await program.world.change(TicketRow, program.ticket_id, version=2)
    await program.world.approve(request_id)
    refused = await program.close()
    assert isinstance(refused, Done)
    assert refused.outcome.status == 409
    assert (await program.world.approval(request_id)).ended_reason == "changed since asked"
    assert isinstance(await program.close(), Denied)
    assert await closed(program) == 0
    assert isinstance(await program.close(version=2), Pending)


async def test_what_cannot_be_done_is_never_put_to_a_person(program: Program) -> None:
    refused = await program.close(version=7)
    assert refused.outcome.status == 409
    assert await program.world.pending() == []


async def test_a_yes_to_one_caller_is_none_to_another(program: Program) -> None:
    await program.world.approve(await program.ask())
    other = Program(program.world, program.ticket_id, "other")
    assert isinstance(await other.close(), Pending)
    assert await closed(program) == 0


async def test_a_call_that_failed_is_kept_and_its_repeat_finishes_it(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    await program.world.approve(await program.ask())
    with monkeypatch.context() as broken:
        broken.setattr("app.services.tickets._spends", lambda *_: 1 / 0)
        assert type(await program.close()).__name__ == "Failed"
    assert (await program.close()).outcome.body["status"] == "closed"
    assert await closed(program) == 1


async def test_two_repeats_at_once_carry_it_out_once_and_both_hear_of_it(program: Program) -> None:
    request_id = await program.ask()
    await program.world.approve(request_id)
    results = await asyncio.gather(program.close(), program.close())
    assert sorted(result.outcome.body["status"] for result in results) in (["closed", "used"], ["closed", "closed"])
    assert await closed(program) == 1
    assert (await program.world.approval(request_id)).ended == "used"


async def test_two_calls_at_once_ask_once(program: Program) -> None:
    assert len(set(await asyncio.gather(program.ask(), program.ask()))) == 1
    assert len(await program.world.pending()) == 1


async def test_a_call_that_a_brake_holds_is_kept_until_it_is_let_go(program: Program) -> None:
    await program.world.approve(await program.ask())
    brake = BrakeRow.__table__
    await program.world.system.db.write(
        lambda s: s.execute(insert(brake).values(agent="*", by="ops", at=ago(0))) and None
    )
    held = await program.close()
    assert isinstance(held, Denied)
    assert held.reason == "halted"
    await program.world.system.db.write(lambda s: s.execute(delete(brake)) and None)
    assert (await program.close()).outcome.body["status"] == "closed"


@pytest.mark.parametrize("step", [None, Step.CONSUMED, Step.DISPATCHED])
async def test_a_tool_that_cannot_tell_whether_it_ran_is_never_run_twice(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, step: Step | None
) -> None:
    burned: list[str] = []

    @post("/burn", name="burn", guards=[signed_in], status_code=200).agent(description="Burn.", approval="required")
    async def burn() -> dict[str, str]:
        burned.append("it")
        return {}

    monkeypatch.setattr("app.product.HANDLERS", [*HANDLERS, burn])
    async with a_world(tmp_path, migrated) as world:
        caller = Caller(Principal("token", "desk", "desk"), ("tool:burn",), Meter(99), parking=None)
        call = partial(world.system.pipeline.invoke, caller, "burn", {})
        pending = await call()
        assert isinstance(pending, Pending)
        await world.approve(pending.request_id)
        with dies_at(step) if step else nullcontext():
            await call()
        again = await call()
        ended = (await world.approval(pending.request_id)).ended
    assert len(burned) == (0 if step is Step.CONSUMED else 1)
    assert (type(again), ended) == ((Denied, "unknown") if step else (Done, "used"))
