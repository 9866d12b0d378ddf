"""Waiting calls are rows that only their own instance, under their own id, can read."""

import asyncio
import base64
import shutil
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.runtime import invocation
from app.runtime.durable.cipher import AppKeyCipher
from app.runtime.durable.ledger import Ledger
from app.runtime.durable.storage import SqliteStorage
from app.runtime.errors import Unreadable
from app.runtime.tools.approvals import NewRequest
from app.runtime.tools.gate import ParkedCall
from app.runtime.tools.results import Pending
from app.services import approval_gate
from db.schema import ApprovalRow
from tests.support import NOW, TRIAGER, a_ticket
from tests.support_host import private
from tests.support_ledger import a_parked_close, ledger_rows, parked_closes, settled
from tests.world import KEY, World, a_world, awake

pytestmark = pytest.mark.anyio
NEW_KEY = base64.b64encode(b"n" * 32).decode()


def rewrite(world: World, query: str, *params: str) -> None:
    private(world.system.host, "triager", "main", query, *params)


async def test_a_waiting_call_is_looked_at_after_thirty_seconds_and_its_arguments_are_sealed(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        [row] = ledger_rows(world)
        assert (row["request_id"], row["tool"], row["subject"]) == (request, "tickets_close", f"ticket:{ticket}")
        assert (row["checks"], row["next_check_at"]) == (0, "2026-03-09T12:00:30.000Z")
        sealed = base64.b64decode(row["arguments"].partition(".")[2])
        assert b"ticket_id" not in sealed
        assert b"version" not in sealed


async def test_the_same_call_again_waits_under_the_same_request_and_asks_nobody(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        tools = awake(world.system.host, "triager", "main")._agent.tools
        with invocation.begin("trace") as own:
            again = await tools.call("tickets_close", {"version": 1, "ticket_id": ticket})
        assert isinstance(again, Pending)
        assert (again.request_id, own.statements) == (request, 0)
        assert await world.pending() == [request]


async def test_calls_that_no_key_opens_are_set_aside_and_recovered_when_the_key_returns(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        old_ticket, old = await a_parked_close(world)
    async with a_world(tmp_path, migrated, app_key=NEW_KEY) as world:
        new_ticket = await world.system.db.write(a_ticket)
        await world.sweep()
        [new] = set(await world.pending()) - {old}
        with capture_logs() as logs:
            for request in (old, new):
                await world.approve(request)
        assert {line["request_id"] for line in logs if line["event"] == "delivery_failed"} == {old}
        assert (await world.ticket(old_ticket)).status == "open"
        assert (await world.ticket(new_ticket)).status == "closed"
        assert [row["request_id"] for row in ledger_rows(world)] == [old]
        assert await settled(world) == [(new, "approved", "ok")]
    async with a_world(tmp_path, migrated, app_key=NEW_KEY, previous_keys=(KEY,)) as world:
        assert (await world.ticket(old_ticket)).status == "closed"
        assert await settled(world) == [(new, "approved", "ok"), (old, "approved", "ok")]


async def test_arguments_moved_to_another_row_close_nothing(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        tickets, requests = await parked_closes(world, 2)
        first, second = (row["arguments"] for row in ledger_rows(world))
        for request, other in zip(requests, (second, first), strict=True):
            rewrite(world, "UPDATE ledger SET arguments = ? WHERE request_id = ?", other, request)
            await world.approve(request)
        assert [(await world.ticket(ticket)).status for ticket in tickets] == ["open", "open"]
        assert len(ledger_rows(world)) == 2


async def test_a_row_copied_into_another_instance_closes_nothing(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        await world.approve(request, wake=False)
        [row] = ledger_rows(world)
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        insert = f"INSERT INTO ledger ({columns}) VALUES ({marks})"  # noqa: S608
        private(world.system.host, "triager", "other", insert, *row.values())
        await awake(world.system.host, "triager", "other").wake([request], None)
        assert (await world.ticket(ticket)).status == "open"
        assert (await world.approval(request)).consumed_at is None


@pytest.mark.parametrize("damaged", ["", "nonsense", "é.é", "00000000.AAAA"])
async def test_a_damaged_row_stops_no_other(tmp_path: Path, migrated: Path, damaged: str) -> None:
    async with a_world(tmp_path, migrated) as world:
        tickets, requests = await parked_closes(world, 2)
        rewrite(world, "UPDATE ledger SET arguments = ? WHERE request_id = ?", damaged, requests[0])
        for request in requests:
            await world.approve(request, wake=False)
        await world.run_due(seconds=31)
        assert [(await world.ticket(ticket)).status for ticket in tickets] == ["open", "closed"]
        assert [row["checks"] for row in ledger_rows(world)] == [1]


@pytest.mark.parametrize("answered", [False, True])
async def test_an_instance_that_lost_its_database_adopts_the_question_that_is_still_open(
    tmp_path: Path, migrated: Path, answered: bool
) -> None:
    async with a_world(tmp_path, migrated) as world:
        ticket, request = await a_parked_close(world)
        if answered:
            await world.approve(request, wake=False)
    await asyncio.to_thread(shutil.rmtree, tmp_path / "agents")
    async with a_world(tmp_path, migrated) as world:
        assert (await world.sweep())["asked"] == 1
        assert [row["request_id"] for row in ledger_rows(world)] == [request]
        if not answered:
            assert await world.pending() == [request]
            await world.approve(request)
        await world.run_due(seconds=31)
        assert (await world.ticket(ticket)).status == "closed"
        assert await settled(world) == [(request, "approved", "ok")]


async def test_a_row_whose_question_was_never_put_is_fenced_off_without_a_word(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        _, request = await a_parked_close(world)
        await world.system.db.write(lambda session: session.delete(session.get(ApprovalRow, request)))
        await world.run_due(seconds=31)
        tombstone = await world.approval(request)
        assert (tombstone.ended, tombstone.ended_reason) == ("cancelled", "never asked")
        assert ledger_rows(world) == []
        assert await settled(world) == []
        late = NewRequest(request, "tickets_close", {}, "mark", TRIAGER.key, "ticket:1", {})
        assert await world.system.db.write(approval_gate.ask, late, NOW, 60) is not None  # it cannot appear behind us
        assert (await world.client.get("/approvals")).json() == {"pending": [], "resolved": [], "declined": []}
        assert (await world.sweep())["asked"] == 1


async def test_adopting_merges_with_the_row_that_is_there(tmp_path: Path) -> None:
    armed: list[str] = []
    cipher = AppKeyCipher([KEY], "ledger", lambda count: b"0" * count)
    storage = SqliteStorage(tmp_path / "instance.sqlite")
    ledger = Ledger(storage, cipher, "agent:triager:main", armed.append)
    for request_id in ("theirs", "ours"):
        await ledger.intend(ParkedCall(request_id, "tickets_close", "ticket:1", "mark", {"ticket_id": 1}), NOW)
    await ledger.adopt("ours", "theirs")
    assert [(call.request_id, call.arguments) for call in await ledger.parked()] == [("theirs", {"ticket_id": 1})]
    assert armed == ["2026-03-09T12:00:30.000Z"] * 2
    storage.close()


async def test_sealed_text_opens_only_in_its_context_and_under_its_purpose() -> None:
    cipher = AppKeyCipher([NEW_KEY, KEY], "ledger", lambda count: b"0" * count)
    old = await AppKeyCipher([KEY], "ledger", lambda count: b"0" * count).seal(b"text", "row 1")
    assert await cipher.open(old, "row 1") == b"text"
    for sealed, context in (
        (old, "row 2"),
        (old[:-4] + "AAAA", "row 1"),
        (await AppKeyCipher([KEY], "sessions", bytes).seal(b"text", "row 1"), "row 1"),
    ):
        with pytest.raises(Unreadable):
            await cipher.open(sealed, context)
