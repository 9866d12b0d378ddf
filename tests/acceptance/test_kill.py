"""`kill -9` in every gap of the protocol, in a real process, and a real start afterwards: the books stay right."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from app.runtime.instants import utc_now
from db.engine import Database
from tests.acceptance.server import agent_state, on_disk, serving, until
from tests.support import a_ticket
from tests.world import operator_with_token, a_world

CLOSED = "SELECT subject FROM events WHERE kind = 'closed'"
SWEEP = "/ops/agents/triager/sweep"


@pytest.fixture
def folder(tmp_path: Path, migrated: Path) -> Path:
    """An installation with two stale tickets."""
    shutil.copy(migrated, tmp_path / "triager.sqlite")
    return tmp_path


@pytest.fixture(autouse=True)
async def two_tickets(folder: Path, anyio_backend: str) -> None:
    def fill(session: Session) -> None:
        operator_with_token(session)
        a_ticket(session)
        a_ticket(session)

    database = Database(folder / "triager.sqlite")
    await database.write(fill)
    database.close()


@pytest.mark.parametrize("step", ["woken", "consumed", "dispatched", "told"])
def test_killed_after_a_yes_the_ticket_closes_once_and_nobody_need_ask(folder: Path, step: str) -> None:
    with serving(folder, dies_at=step) as server:
        server.post(SWEEP)
        server.dies(f"/approvals/{server.pending()[0]}/approve", {})
    with serving(folder):  # and no request is made
        until(lambda: agent_state(folder).get("settled"))
    assert on_disk(folder, CLOSED) == [("ticket:1",)]
    assert on_disk(folder, "SELECT status FROM tickets ORDER BY id") == [("closed",), ("open",)]
    assert on_disk(folder, "SELECT ended FROM approvals ORDER BY rowid") == [("used",), (None,)]
    state = agent_state(folder)
    assert [(one["status"], one["retried"]) for one in state["settled"]] == [("approved", "ok")]
    assert state["waiting"] == 1  # the other request, unanswered


@pytest.mark.anyio
async def test_killed_before_anybody_was_asked_the_next_sweep_asks(folder: Path, migrated: Path) -> None:
    with serving(folder, dies_at="intended") as server:
        server.dies(SWEEP)
    assert on_disk(folder, "SELECT count(*) FROM approvals") == [(0,)]
    assert agent_state(folder)["waiting"] == 1
    async with a_world(folder, migrated, utc_now() + timedelta(seconds=31)) as world:
        assert (await world.sweep())["asked"] == 2
        assert len(await world.pending()) == 2


@pytest.mark.parametrize("step", ["asked", "recorded"])
def test_killed_once_people_were_asked_their_answer_is_carried_out(folder: Path, step: str) -> None:
    with serving(folder, dies_at=step) as server:
        server.dies(SWEEP)
    with serving(folder) as server:
        [request] = server.pending()
        server.post(f"/approvals/{request}/approve", {})
        until(lambda: agent_state(folder).get("settled"))
        swept = server.post(SWEEP)["swept"]
    assert on_disk(folder, CLOSED) == [("ticket:1",)]
    assert swept["asked"] == 1
    assert on_disk(folder, "SELECT subject, ended FROM approvals ORDER BY rowid") == [
        ("ticket:1", "used"),
        ("ticket:2", None),
    ]
