"""`triager tool`: a call from a shell passes the gates that an agent's passes, and says what it came to."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from app.cli import control, tool_calls
from app.cli.operations import commands
from app.domain import NotFound
from app.runtime.durable.lock import HostLock
from app.runtime.instants import utc_now
from app.services import users
from tests.support import a_ticket
from tests.support_cli import in_a_world, printed, triager
from tests.world import World, a_world

OPS, READER = "ops@example.test", "bo@example.test"
CLOSE = '{"ticket_id": 1, "version": 1}'


async def furnish(world: World) -> None:
    await world.system.db.write(a_ticket)
    await world.system.db.write(users.add, "Bo", READER, [], world.clock.at)


@pytest.fixture
def folder(tmp_path: Path, migrated: Path) -> Path:
    in_a_world(tmp_path, migrated, furnish)
    return tmp_path


def call(folder: Path, tool: str, given: str, *more: str, who: str = OPS) -> Result:
    return triager(folder, "tool", "call", tool, "--as", who, "--input", given, *more)


def document(done: Result) -> Any:
    """The one document on stdout, whatever the exit code. Nothing is lost in a crash."""
    assert "Traceback" not in done.output
    return json.loads(done.stdout)


def test_a_call_that_is_carried_out_prints_the_routes_answer_and_says_who_acts(folder: Path) -> None:
    done = call(folder, "tickets_index", '{"limit": 1}', "--json")
    assert printed(done)["result"] == "done"
    assert [one["id"] for one in printed(done)["answer"]["tickets"]] == [1]
    assert f"Acting as {OPS}" in done.stderr
    assert call(folder, "tickets_index", "{}").stdout.startswith('done: {"tickets":[')


def test_what_a_title_would_do_to_a_terminal_is_printed_as_escapes(tmp_path: Path, migrated: Path) -> None:
    title = "Pay\u202e\x9b2J\u2028\n\x1b[31m"
    in_a_world(tmp_path, migrated, lambda world: world.system.db.write(a_ticket, title=title))
    for more in ((), ("--json",)):
        done = call(tmp_path, "tickets_index", "{}", *more)
        assert "".join(done.stdout.splitlines()).isprintable()
        told = json.loads(done.stdout.removeprefix("done: "))
        assert told.get("answer", told)["tickets"][0]["title"] == title


@pytest.mark.parametrize("way", ["-", "@"])
def test_arguments_may_come_from_a_file_or_from_stdin(folder: Path, tmp_path: Path, way: str) -> None:
    (tmp_path / "call.json").write_text('{"limit": 1}')
    if way == "@":
        assert call(folder, "tickets_index", f"@{tmp_path}/call.json").exit_code == 0
    else:
        assert call(folder, "tickets_index", "-").exit_code == 2  # stdin is empty here
    assert call(folder, "tickets_index", "@/nowhere").exit_code == 2


def test_a_gated_call_waits_for_a_person_and_is_carried_out_once_when_it_is_repeated(
    folder: Path, migrated: Path
) -> None:
    asked = call(folder, "tickets_close", CLOSE, "--json")
    assert asked.exit_code == 3
    assert document(asked)["result"] == "pending"
    request = document(asked)["answer"]["request_id"]
    again = call(folder, "tickets_close", CLOSE, "--json")
    assert (again.exit_code, document(again)["answer"]["request_id"]) == (3, request)
    status = printed(call(folder, "approval_status", json.dumps({"request_id": request}), "--json"))
    assert status["answer"]["status"] == "pending"

    async def approve(world: World) -> None:
        await world.approve(request, wake=False)

    in_a_world(folder, migrated, approve, now=utc_now())
    closed = printed(call(folder, "tickets_close", CLOSE, "--json"))
    assert (closed["answer"]["status"], closed["answer"]["version"]) == ("closed", 2)
    once_more = printed(call(folder, "tickets_close", CLOSE, "--json"))
    assert once_more["answer"]["status"] == "used"


def test_what_a_route_refuses_has_failed_and_the_reason_is_machine_readable(folder: Path) -> None:
    for given, status in (('{"ticket_id": 9, "version": 1}', 404), ('{"ticket_id": 1, "version": 7}', 409)):
        done = call(folder, "tickets_close", given, "--json")
        assert (done.exit_code, document(done)["result"], document(done)["status"]) == (1, "failed", status)
    done = call(folder, "tickets_close", '{"ticket_id": "1", "version": 1}', "--json")
    assert (done.exit_code, document(done)["status"]) == (1, 422)
    assert "Nothing was executed" in document(done)["answer"]["detail"]


def test_somebody_who_may_only_look_is_denied_what_changes_things(folder: Path) -> None:
    assert call(folder, "tickets_index", "{}", who=READER).exit_code == 0
    for more in ((), ("--preflight",)):
        done = call(folder, "tickets_close", CLOSE, "--json", *more, who=READER)
        assert (done.exit_code, document(done)["result"]) == (4, "denied")
    assert document(call(folder, "tickets_close", CLOSE, "--json", who=READER))["answer"]["reason"] == "scope"


def test_a_preflight_says_what_would_become_of_it_and_asks_nobody(folder: Path, migrated: Path) -> None:
    said = printed(call(folder, "tickets_close", CLOSE, "--preflight", "--json"))["answer"]
    assert (said["allowed"], said["needs_approval"]) == (True, True)
    assert "Closes ticket 1" in said["preview"]["summary"]
    stale = call(folder, "tickets_close", '{"ticket_id": 1, "version": 7}', "--preflight", "--json")
    assert (stale.exit_code, document(stale)["answer"]["status"]) == (4, 409)

    async def nobody_was_asked(world: World) -> list[str]:
        return await world.pending()

    assert in_a_world(folder, migrated, nobody_was_asked) == []


@pytest.mark.parametrize(
    ("tool", "given", "who", "code", "words"),
    [
        ("tickets_clos", "{}", OPS, 2, 'Did you mean "tickets_close"?'),
        ("tickets_index", "{nonsense", OPS, 2, "this is not JSON"),
        ("tickets_index", "[1]", OPS, 2, "a JSON object is wanted"),
        ("tickets_index", '{"limit": 1, "limit": 2}', OPS, 2, "`limit` is there twice"),
        ("tickets_index", '{"limit": NaN}', OPS, 2, "this is not JSON"),
        ("tickets_index", '{"text": "\\ud800"}', OPS, 2, "this is not JSON"),
        ("tickets_index", "{}", "nobody@example.test", 1, "Nobody enabled has the address"),
    ],
)
def test_what_cannot_be_called_is_an_error_in_json_too(
    folder: Path, tool: str, given: str, who: str, code: int, words: str
) -> None:
    done = call(folder, tool, given, "--json", who=who)
    assert done.exit_code == code
    assert words in document(done)["error"]


def test_a_disabled_person_is_nobody_to_act_as(folder: Path) -> None:
    triager(folder, "user", "disable", READER)
    assert call(folder, "tickets_index", "{}", who=READER).exit_code == 1


def test_without_a_database_the_error_is_a_document_and_names_the_way_out(tmp_path: Path) -> None:
    for line in (["token", "list"], ["tool", "call", "tickets_index", "--as", OPS], ["sweep"], ["agent", "list"]):
        done = triager(tmp_path / "empty", *line, "--json")
        assert done.exit_code == 1
        assert "triager db upgrade" in document(done)["error"]
        assert "triager db upgrade" in done.stderr


@pytest.mark.anyio
async def test_beside_a_running_host_it_is_the_host_that_calls_with_one_budget_a_person(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await furnish(world)
        lock = HostLock(world.system.settings.host_lock)
        assert lock.take() is None
        async with control.listening(control.socket_path(tmp_path), commands(world.system)):
            done = await asyncio.to_thread(call, tmp_path, "tickets_close", CLOSE, "--json")
        lock.release()
        assert (done.exit_code, document(done)["result"]) == (3, "pending")
        assert await world.pending() == [document(done)["answer"]["request_id"]]
        asked = {"tool": "tickets_index", "arguments": {}, "email": OPS, "preflight": False}
        results = [(await tool_calls.call(world.system, asked))["result"] for _ in range(60)]
        assert results == ["done"] * 59 + ["denied"]
        assert (await tool_calls.call(world.system, asked | {"email": READER}))["result"] == "done"
        with pytest.raises(NotFound, match="Nothing was executed"):
            await tool_calls.call(world.system, asked | {"tool": "tickets_open"})
        entries = [json.loads(line) for path in world.system.audit.days() for line in path.read_text().splitlines()]
        assert {(entry["surface"], entry["principal"]) for entry in entries} == {
            ("cli", "operator:1"),
            ("cli", "operator:2"),
        }
        assert len({entry["trace_id"] for entry in entries}) == len(entries)


def test_the_list_says_what_each_tool_may_do(folder: Path) -> None:
    listed = {one["name"]: one for one in printed(triager(folder, "tool", "list", "--json"))}
    assert (listed["tickets_index"]["read_only"], listed["tickets_index"]["approval"]) == (True, "auto")
    assert (listed["tickets_close"]["read_only"], listed["tickets_close"]["approval"]) == (False, "required")
    reads, changes = triager(folder, "tool", "list").stdout.splitlines()
    assert "reads" in reads
    assert "a person approves each call" in changes
