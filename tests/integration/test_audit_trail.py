"""What the audit trail says of a call, whatever the call comes to."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.runtime.principal import Principal
from app.runtime.tools.audit import Audit, Entry, Who
from app.runtime.tools.budget import Meter
from app.runtime.tools.pipeline import Caller
from app.runtime.tools.results import Denied, Done, Outcome, Pending
from app.web.audit_files import FileSink
from tests.support_tools import Depot, a_depot
from tests.world import Clock

pytestmark = pytest.mark.anyio
SEND: dict[str, Any] = {"parcel_id": 7}


@pytest.fixture
async def depot(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Depot]:
    opened: AbstractAsyncContextManager[Depot] = a_depot(tmp_path, migrated, monkeypatch, calls_per_minute=6)
    async with opened as depot:
        yield depot


def trail(depot: Depot) -> list[dict[str, Any]]:
    """Every entry, oldest first."""
    return [json.loads(line) for path in depot.world.system.audit.days() for line in path.read_text().splitlines()]


def told(entry: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(entry[name] for name in ("kind", "tool", "result", "status", "reason"))


async def test_every_call_and_every_refusal_is_one_line(depot: Depot) -> None:
    await depot.tools.call("parcels_find", {"label": "a"})
    await depot.tools.call("parcels_find", {"label": 7})
    await depot.tools.call("parcels_break", {})
    await depot.tools.call("tickets_index", {})
    await depot.tools.preflight("parcels_send", SEND)
    asked: Any = await depot.send(SEND)
    assert [told(entry) for entry in trail(depot)] == [
        ("call", "parcels_find", "done", 200, None),
        ("call", "parcels_find", "done", 422, None),
        ("call", "parcels_break", "failed", None, None),
        ("call", "tickets_index", "denied", None, "scope"),
        ("preflight", "parcels_send", "done", 200, None),
        ("call", "parcels_send", "pending", None, None),
    ]
    first, *_, last = trail(depot)
    assert (first["surface"], first["principal"], first["arguments"]) == ("agent", "agent:courier:main", {"label": "a"})
    assert first["at"] == "2026-03-09T12:00:00.000Z"
    assert first["ms"] > 0
    assert last["request_id"] == asked.request_id
    assert isinstance(await depot.tools.call("parcels_find", {"label": "b"}), Done)  # the sixth of this minute
    assert isinstance(await depot.tools.call("parcels_find", {"label": "c"}), Denied)
    assert told(trail(depot)[-1]) == ("call", "parcels_find", "denied", None, "rate-limit")


async def test_what_became_of_a_call_that_waited_is_there_under_its_request(depot: Depot) -> None:
    done, refused, silent, taken_back = [(await depot.send({"parcel_id": n})).request_id for n in (1, 2, 3, 4)]
    await depot.world.approve(done)
    await depot.world.reject(refused)
    await depot.tools.withdraw([taken_back], "moot")
    await depot.world.run_due(days=4)
    later = {entry["request_id"]: entry for entry in trail(depot) if entry["kind"] == "delivery"}
    assert told(later[done]) == ("delivery", "parcels_send", "done", 200, None)
    assert later[done]["arguments"]["parcel_id"] == 1
    for request, word in ((refused, "rejected"), (silent, "expired"), (taken_back, "cancelled: withdrawn: moot")):
        assert told(later[request]) == ("delivery", "parcels_send", "denied", None, "approval")
        assert later[request]["message"] == word
    assert len([entry for entry in trail(depot) if entry["kind"] == "delivery"]) == 4


async def test_a_call_has_the_trace_of_the_turn_that_made_it(depot: Depot) -> None:
    await depot.world.sweep()
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    await depot.world.client.post("/ops/agents/triager/sweep", headers=headers)
    assert [entry["trace_id"] == trace for entry in trail(depot)] == [False, True]


@pytest.mark.parametrize("door", ["mcp", "cli"])
async def test_the_door_is_named(depot: Depot, door: Any) -> None:
    caller = Caller(Principal("operator", "1", "Ana"), ("tool:tickets_index",), Meter(9), None, surface=door)
    await depot.world.system.pipeline.invoke(caller, "tickets_index", {})
    assert (trail(depot)[-1]["surface"], trail(depot)[-1]["principal"]) == (door, "operator:1")


async def test_a_disk_that_is_full_costs_the_entry_and_not_the_answer(depot: Depot, tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    folder.mkdir()
    (folder / "2026-03-09.jsonl").symlink_to("/dev/full")
    with capture_logs() as logs:
        answer = await depot.tools.call("parcels_find", {"label": "a"})
        assert isinstance(await depot.send(SEND), Pending)
    assert answer == Done(Outcome(200, {"label": "a"}))
    lost = [line for line in logs if line["event"] == "audit_failed"]
    assert [line["entry"]["tool"] for line in lost] == ["parcels_find", "parcels_send"]
    assert "No space left" in lost[0]["why"]


async def test_a_call_that_is_broken_off_is_there_too(depot: Depot) -> None:
    async def never() -> Done:
        await asyncio.sleep(60)
        raise AssertionError

    audit = Audit(depot.world.system.audit, depot.world.clock)
    tool = depot.world.system.catalog.get("parcels_find")
    call = asyncio.create_task(audit.watch(Who("token:1", "mcp"), tool, {}, never()))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert told(trail(depot)[-1]) == ("call", "parcels_find", "failed", None, None)
    assert "broke off" in trail(depot)[-1]["message"]


async def test_a_message_that_quotes_a_hidden_argument_does_not_show_it(tmp_path: Path, now: Any) -> None:
    entries: list[Entry] = []

    class Kept(FileSink):
        def write(self, entry: Entry) -> None:
            entries.append(entry)

    audit = Audit(Kept(tmp_path), Clock(now))
    quoted = Done(Outcome(422, {"detail": "Invalid enum value 'mark-Q' at $.token"}))
    audit.note(Who("token:1", "mcp"), "send", quoted, "call", None, secrets={"mark", "mark-Q"})
    audit.note(Who("token:1", "mcp"), "send", Denied("approval", "no: password=mark-Q"), "call", None)
    assert [entry.message for entry in entries] == [
        "422: Invalid enum value '[REDACTED]' at $.token",
        "no: password=[REDACTED]",
    ]


async def test_without_files_the_log_has_the_trail(depot: Depot) -> None:
    pipeline = type(depot.world.system.pipeline)(None, depot.world.clock, str, print)  # type: ignore[arg-type]
    pipeline.bind(depot.world.system.litestar, depot.world.system.catalog)
    caller = Caller(Principal("operator", "1", "Ana"), ("tool:tickets_index",), Meter(9), None, surface="cli")
    with capture_logs() as logs:
        await pipeline.invoke(caller, "tickets_index", {"limit": 1})
    [line] = [line for line in logs if line["event"] == "tool_call"]
    assert (line["tool"], line["result"], line["arguments"]) == ("tickets_index", "done", {"limit": 1})
