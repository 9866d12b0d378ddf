"""A brake that only the table knows stops what matters: the question, the answer, and the use of a yes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text

from app.domain import Conflict
from app.runtime.tools.results import Denied, Done, Pending
from app.services import approval_gate
from tests.support import a_spent_approval, a_ticket, an_approval
from tests.support_brakes import brake, halt, release, resume
from tests.support_tools import Depot, a_depot, statements
from tests.world import awake

pytestmark = pytest.mark.anyio
HALTED = "The agent courier is halted by Ops On-Call since 2026-03-09T12:00:00.000Z (a leak)."


@pytest.fixture
async def depot(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Depot]:
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        yield depot


async def wake(depot: Depot, request: str) -> None:
    """Past the host, which would have looked at the brakes first."""
    await awake(depot.world.system.host, "courier", "main").wake([request], None)


@pytest.mark.parametrize("agent", ["*", "courier"])
async def test_no_question_is_put_and_nothing_of_it_stays(depot: Depot, agent: str) -> None:
    await brake(depot.world, agent)
    refused = await depot.send({"parcel_id": 7})
    assert isinstance(refused, Denied)
    assert refused.reason == "halted"
    assert "a leak" in refused.message
    assert "Nothing was executed. To let it go on: triager resume" in refused.message
    assert depot.ledger() == await depot.rows() == []


@pytest.mark.parametrize("agent", ["triager", "cour", "couriers", "c_urier", "Courier", "%"])
async def test_the_brake_of_another_name_stops_nothing(depot: Depot, agent: str) -> None:
    await brake(depot.world, agent)
    assert isinstance(await depot.send({"parcel_id": 7}), Pending)
    [row] = await depot.rows()
    await depot.world.approve(row.id)
    assert [sent.parcel_id for sent in depot.sent] == [7]


@pytest.mark.parametrize("agent", ["*", "courier"])
@pytest.mark.parametrize("verb", ["approve", "reject"])
async def test_no_answer_is_recorded(depot: Depot, agent: str, verb: str) -> None:
    await depot.send({"parcel_id": 7})
    [row] = await depot.rows()
    await brake(depot.world, agent)
    response = await depot.world.client.post(f"/approvals/{row.id}/{verb}", json={})
    problem = response.json()
    assert (response.status_code, problem["state"]) == (409, "halted")
    for said in ("halted by Ops On-Call since 2026-03-09T12:00:00.000Z (a leak)", "Nothing was decided", "resume"):
        assert said in problem["detail"]
    [row] = await depot.rows()
    assert (row.decision, row.ended) == (None, None)
    await release(depot.world)
    assert (await depot.world.client.post(f"/approvals/{row.id}/{verb}", json={})).status_code == 200


async def test_who_answered_first_is_told_before_who_halted(depot: Depot) -> None:
    await depot.send({"parcel_id": 7})
    [row] = await depot.rows()
    await depot.world.approve(row.id, wake=False)
    await brake(depot.world)
    with pytest.raises(Conflict, match="approved by Ops On-Call already"):
        await depot.world.approve(row.id)


async def test_a_yes_is_kept_and_used_once_afterwards(depot: Depot) -> None:
    await depot.send({"parcel_id": 7})
    [row] = await depot.rows()
    await depot.world.approve(row.id, wake=False)
    await brake(depot.world, "courier")
    ran = statements(depot.world.system.db)
    await wake(depot, row.id)
    assert len(ran) == 1, "it was read once, and left as it was"
    assert depot.sent == []
    assert len(depot.ledger()) == 1
    await release(depot.world)
    await depot.world.run_due(minutes=2)
    await wake(depot, row.id)
    assert [sent.parcel_id for sent in depot.sent] == [7]
    assert await depot.told() == [(row.id, "approved", "ok")]


async def test_the_statements_that_spend_and_withdraw_read_the_table(depot: Depot) -> None:
    db, now = depot.world.system.db, depot.world.clock.at
    said = {"decision": "approved", "use_by": "2026-03-10T12:00:00.000Z"}
    fresh, own = await db.write(an_approval, 1, **said), await db.write(a_spent_approval, 2)
    asked = await db.write(an_approval, 3)
    await brake(depot.world, "triager")
    assert not await db.write(approval_gate.consume, fresh, "mine", now)
    assert not await db.write(approval_gate.consume, own, "claim-2", now)
    assert await db.write(approval_gate.withdraw, [asked], "agent:triager:main", "moot", now) == []
    await release(depot.world)
    assert await db.write(approval_gate.consume, fresh, "mine", now)
    assert await db.write(approval_gate.consume, own, "claim-2", now)
    assert await db.write(approval_gate.withdraw, [asked], "agent:triager:main", "moot", now) == [asked]


async def test_a_call_that_was_being_carried_out_is_kept_without_hurry(depot: Depot) -> None:
    await depot.send({"parcel_id": 7})
    [row] = await depot.rows()
    await depot.world.approve(row.id, wake=False)
    spent = {"claim_id": f"agent:courier:main/{row.id}", "consumed_at": "2026-03-09T12:00:00.000Z"}
    await depot.world.change(type(row), row.id, **spent, use_by="2026-03-09T12:00:00.000Z")
    await brake(depot.world)
    await wake(depot, row.id)
    assert depot.sent == []
    assert depot.ledger()[0]["next_check_at"] == "2026-03-09T12:00:30.000Z"
    await release(depot.world)
    await wake(depot, row.id)
    assert [sent.parcel_id for sent in depot.sent] == [7]


async def test_the_mirror_refuses_plain_calls_at_no_cost(depot: Depot) -> None:
    await halt(depot.world, "courier")
    ran = statements(depot.world.system.db)
    for refused in (
        await depot.tools.call("parcels_find", {"label": "a"}),
        await depot.tools.preflight("parcels_find", {"label": "a"}),
        await depot.send({"parcel_id": 7}),
    ):
        assert isinstance(refused, Denied)
        assert (refused.reason, HALTED in refused.message) == ("halted", True)
    assert ran == depot.found == depot.ledger() == []
    assert depot.tools.room() == 50
    await resume(depot.world, "courier")
    assert isinstance(await depot.tools.call("parcels_find", {"label": "a"}), Done)


async def test_what_is_refused_as_halted_takes_no_place_in_the_budget(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_depot(tmp_path, migrated, monkeypatch, calls_per_minute=1) as depot:
        await halt(depot.world)
        await depot.tools.call("parcels_find", {"label": "a"})
        await resume(depot.world)
        assert isinstance(await depot.tools.call("parcels_find", {"label": "a"}), Done)


async def test_a_halt_in_the_middle_of_a_sweep_stops_before_the_next_call(depot: Depot) -> None:
    for _ in range(3):
        await depot.world.system.db.write(a_ticket)
    await brake(depot.world, "triager")
    await awake(depot.world.system.host, "triager", "main").call("sweep")  # past the host
    assert await depot.world.pending() == []
    await release(depot.world)
    assert (await depot.world.sweep())["asked"] == 3


async def test_only_so_many_requests_are_open_at_a_time(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_depot(tmp_path, migrated, monkeypatch, open_requests=2) as depot:
        asked = []
        for parcel in (1, 2):
            assert depot.tools.room() == 3 - parcel
            asked.append(await depot.send({"parcel_id": parcel}))
        first, _ = asked
        refused = await depot.send({"parcel_id": 3})
        assert isinstance(refused, Denied)
        assert (refused.reason, refused.at_limit, refused.rejected) == ("approval", True, False)
        assert refused.message.startswith("Waiting for people: 2 requests are open. Nothing was executed.")
        assert (depot.tools.room(), len(depot.ledger()), len(await depot.rows())) == (0, 2, 2)
        assert isinstance(await depot.send({"parcel_id": 2}), Pending), "one of them, asked again, is no further one"
        eu = await depot.tools_of("eu").call("parcels_send", {"parcel_id": 3})
        assert isinstance(eu, Pending), "each instance has a limit of its own"
        await depot.world.reject(first.request_id)
        assert isinstance(await depot.send({"parcel_id": 3}), Pending)


async def test_counting_the_open_requests_reads_none_that_ended(depot: Depot) -> None:
    plan = await depot.world.system.db.read(
        lambda s: s.execute(text(f"EXPLAIN QUERY PLAN {approval_gate.OPEN}"), {"principal_key": "agent:a:b"}).all()
    )
    assert "approvals_live" in str(plan)
