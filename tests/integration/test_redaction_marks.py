"""Secrets go into a tool, and come out nowhere else: not in files, rows, pages, logs or answers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from support_cli import triager

from app.runtime.tools.results import Denied, Done, Failed, Pending
from app.web.tracing import configure_logs
from tests.support_tools import Depot, a_depot

pytestmark = pytest.mark.anyio

MARK = "mark-"
SECRETS: dict[str, Any] = {
    "config": {"Password": "mark-A"},
    "items": [{"api_key": "mark-B"}],
    "headers": {"Authorization": "Bearer mark-C", "Cookie": "sid=mark-D"},
    "X-Api-Key": "mark-E",
    "api.key": ["mark-E2"],
    "blob": '{"token":"mark-F"}',
    "twice": json.dumps(json.dumps({"a": [{"secret": "mark-F2"}]})),
    "said": "log in at https://u:mark-H@host/ with password=mark-G",
    "pin": "mark-P",
}
CALL = {"parcel_id": 7, "note": "use Bearer mark-N", "flags": SECRETS}


async def everywhere(depot: Depot, folder: Path) -> dict[str, str]:
    """Every place where a person or a program could find a mark, by name."""
    client = depot.world.client
    places = {
        "approvals": (await client.get("/approvals")).text,
        "console": (await client.get("/", headers={"accept": "text/html"})).text,
        "report": (await client.get("/ops/agents/triager")).text,
    }
    return places | files(folder)


def files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes().decode("latin-1") for path in found}


def marked(places: dict[str, str]) -> dict[str, str]:
    """What stands around the first mark of each place that has one."""
    found = {name: text.find(MARK) for name, text in places.items()}
    return {name: places[name][max(0, at - 60) : at + 20] for name, at in found.items() if at >= 0}


async def test_no_secret_that_a_tool_was_given_is_found_anywhere(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        configure_logs()
        first = await depot.send(CALL)
        second = await depot.send({**CALL, "flags": {**SECRETS, "pin": "mark-Q"}})
        assert isinstance(first, Pending)
        assert isinstance(second, Pending)
        assert first.request_id != second.request_id  # they differ in what is hidden only
        wrong = await depot.send({"parcel_id": 7, "note": {"token": "mark-W"}})
        assert isinstance(wrong, Done)
        assert wrong.outcome.status == 422
        assert isinstance(await depot.tools.call("parcels_break", {}), Failed)
        assert isinstance(await depot.tools.preflight("parcels_send", CALL), Done)
        headers = {"content-type": "application/json"}
        said = json.dumps({"reason": "use Bearer mark-I instead"})
        no = await depot.world.client.post(f"/approvals/{second.request_id}/reject", content=said, headers=headers)
        assert no.json()["reason"] == "use Bearer [REDACTED] instead"
        await depot.world.system.host.drain()
        again = await depot.send({**CALL, "flags": {**SECRETS, "pin": "mark-Q"}})
        assert isinstance(again, Denied)
        assert "use Bearer [REDACTED] instead" in again.message
        third = await depot.send({"parcel_id": 8, "note": "x"})
        assert isinstance(third, Pending)
        await depot.tools.withdraw([third.request_id], "token=mark-J was wrong")
        places = await everywhere(depot, tmp_path)
        assert marked(places) == {}
        [row] = [row for row in await depot.rows() if row.id == first.request_id]
        assert row.input["flags"]["config"] == {"Password": "[REDACTED, 6 characters]"}
        assert row.input["flags"].keys() == SECRETS.keys()
        assert json.loads(row.input["flags"]["blob"]) == {"token": "[REDACTED]"}
        await depot.world.approve(first.request_id)
        [sent] = depot.sent
        assert (sent.note, sent.flags) == (CALL["note"], SECRETS)
        assert marked(await everywhere(depot, tmp_path)) == {}
    logged = capsys.readouterr()
    assert MARK not in logged.out + logged.err
    assert "password=[REDACTED]" in logged.err


def test_the_command_line_shows_none_either(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> None:
        async with a_depot(tmp_path, migrated, monkeypatch) as depot:
            await depot.send(CALL)

    asyncio.run(ask())
    for line in (["tool", "log"], ["tool", "log", "--json"], ["agent", "show", "courier", "--json"]):
        shown = triager(tmp_path, *line)
        assert shown.exit_code == 0, shown.output
        assert "parcels_send" in shown.stdout
        assert MARK not in shown.output
