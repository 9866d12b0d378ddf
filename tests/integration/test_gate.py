"""Before a gated call may run, a person is asked: steps 1 to 4 of the protocol, and what each gap survives."""

from pathlib import Path
from typing import Any

import pytest

from app.domain import Unavailable
from app.runtime import steps
from app.runtime.steps import Step
from app.runtime.tools.results import Denied, Done, Failed, Pending
from app.services import approval_gate
from tests.support_tools import Depot, a_depot, statements
from tests.world import awake

pytestmark = pytest.mark.anyio


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
async def depot(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        yield depot


@pytest.fixture
def die_at(monkeypatch: pytest.MonkeyPatch) -> Any:
    def arrange(step: Step) -> None:
        def die(at: Step) -> None:
            if at is step:
                monkeypatch.setattr(steps, "_hook", [])
                raise Killed

        monkeypatch.setattr(steps, "_hook", [die])

    return arrange


async def test_a_fresh_question_is_one_row_one_notice_and_nothing_sent(
    depot: Depot, capsys: pytest.CaptureFixture[str]
) -> None:
    result = await depot.send({"parcel_id": 7, "note": "x", "flags": {"pin": "1234", "n": 1}})
    [row] = await depot.rows()
    assert isinstance(result, Pending)
    assert (result.request_id, result.tool) == (row.id, "parcels_send")
    assert row.input == {"parcel_id": 7, "note": "x", "flags": {"pin": "[REDACTED, 4 characters]", "n": 1}}
    assert (row.subject, row.principal_key) == ("parcel:7", "agent:courier:main")
    assert row.preview["summary"] == "Sends parcel 7: x."
    assert (row.decision, row.ended, row.claim_id) == (None, None, None)
    assert (row.requested_at, row.expires_at) == ("2026-03-09T12:00:00.000Z", "2026-03-12T12:00:00.000Z")  # 72 h
    assert depot.sent == []
    assert capsys.readouterr().out.count("approval_requested") == 1


async def test_a_fresh_question_costs_two_statements_and_a_repeat_none(depot: Depot) -> None:
    ran = statements(depot.world.system.db)
    await depot.send({"parcel_id": 7})
    assert [statement.split()[0] for statement in ran] == ["INSERT"]  # this tool's preview reads nothing; a ticket's: 1
    await depot.send({"parcel_id": 7})
    assert len(ran) == 1


async def test_a_repeat_is_answered_from_the_own_ledger(depot: Depot, capsys: pytest.CaptureFixture[str]) -> None:
    first = await depot.send({"parcel_id": 7})
    assert (await depot.send({"parcel_id": 7})).request_id == first.request_id
    assert len(await depot.rows()) == 1
    assert capsys.readouterr().out.count("approval_requested") == 1


async def test_nothing_impossible_is_put_to_a_person(depot: Depot) -> None:
    result = await depot.send({"parcel_id": 404})
    assert isinstance(result, Done)
    assert (result.outcome.status, result.outcome.message) == (409, "That parcel is gone.")
    assert await depot.rows() == []
    assert depot.ledger() == []


async def test_a_rehearsal_that_throws_leaves_nothing_behind(depot: Depot, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(depot.world.system.db, "read", broken)
    result = await depot.send({"parcel_id": 7})
    monkeypatch.undo()
    assert isinstance(result, Failed)
    assert await depot.rows() == []
    assert depot.ledger() == []


async def test_the_intent_and_its_alarm_come_before_the_question(depot: Depot, die_at: Any) -> None:
    die_at(Step.INTENDED)
    with pytest.raises(Killed):
        await depot.send({"parcel_id": 7})
    [intent] = depot.ledger()
    assert (intent["tool"], intent["next_check_at"]) == ("parcels_send", "2026-03-09T12:00:30.000Z")
    assert await depot.rows() == []
    await depot.world.run_due(seconds=30)
    [tombstone] = await depot.rows()
    assert (tombstone.id, tombstone.ended, tombstone.fingerprint) == (intent["request_id"], "cancelled", "")
    assert depot.ledger() == []
    assert await depot.told() == []


async def test_a_question_whose_asker_died_loses_no_answer(depot: Depot, die_at: Any) -> None:
    die_at(Step.ASKED)
    with pytest.raises(Killed):
        await depot.send({"parcel_id": 7})
    [row] = await depot.rows()
    await depot.world.approve(row.id, wake=False)
    await depot.world.run_due(seconds=30)
    assert [one.parcel_id for one in depot.sent] == [7]
    assert await depot.told() == [(row.id, "approved", "ok")]


async def test_a_late_insert_does_not_appear_behind_a_tombstone(depot: Depot, monkeypatch: pytest.MonkeyPatch) -> None:
    """On D1 a statement in flight at a crash may land later: the question must not come alive when nobody waits."""
    real_ask = approval_gate.ask

    def fenced_first(session: Any, request: Any, now: Any, ttl_s: float) -> Any:
        assert approval_gate.fence(session, request.id, request.tool, request.principal_key, now)
        return real_ask(session, request, now, ttl_s)

    monkeypatch.setattr(approval_gate, "ask", fenced_first)
    assert isinstance(await depot.send({"parcel_id": 7}), Denied)
    assert [row.ended for row in await depot.rows()] == ["cancelled"]
    assert depot.ledger() == []


async def test_a_request_whose_ledger_row_was_lost_is_adopted(depot: Depot) -> None:
    first = await depot.send({"parcel_id": 7})
    awake(depot.world.system.host, "courier", "main")._agent.sql("DELETE FROM ledger")
    assert (await depot.send({"parcel_id": 7})).request_id == first.request_id
    assert [row["request_id"] for row in depot.ledger()] == [first.request_id]
    await depot.world.approve(first.request_id)
    assert [one.parcel_id for one in depot.sent] == [7]


async def test_a_database_that_fails_during_the_question_keeps_the_intent(
    depot: Depot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question may have been written, so only the ledger's own look may settle it."""

    async def busy(*_: Any) -> None:
        raise Unavailable("The database is busy.")

    monkeypatch.setattr(depot.world.system.db, "write", busy)
    with pytest.raises(Unavailable):
        await depot.send({"parcel_id": 7})
    assert len(depot.ledger()) == 1
    monkeypatch.undo()
