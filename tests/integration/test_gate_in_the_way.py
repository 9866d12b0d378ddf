"""A request of the same call that is in the way of a new question, and one that no longer is."""

from pathlib import Path
from typing import Any

import pytest

from app.runtime.tools.results import Denied, Pending
from db.schema import ApprovalRow
from tests.support_tools import Depot, a_depot
from tests.world import awake

pytestmark = pytest.mark.anyio

LATER, NOW, EARLIER = "2026-03-10T12:00:00.000Z", "2026-03-09T12:00:00.000Z", "2026-03-09T11:00:00.000Z"


@pytest.fixture
async def depot(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        yield depot


CHANGED = {"ended": "cancelled", "ended_reason": "changed since asked"}
YES = {"decision": "approved", "use_by": LATER}


@pytest.mark.parametrize(
    ("stands", "word"),
    [
        ({"ended": "used"}, "used"),
        ({"ended": "unknown"}, "unknown"),
        (CHANGED, "cancelled"),
        ({"ended": "rejected", "reason": "wait for the refund"}, "rejected"),
        ({"ended": "rejected", "until_at": LATER}, "rejected"),
    ],
)
async def test_an_ended_request_that_is_in_the_way_refuses_the_call(
    depot: Depot, stands: dict[str, Any], word: str
) -> None:
    asked = await ended_request(depot, stands)
    result = await depot.send({"parcel_id": 7})
    assert isinstance(result, Denied)
    assert (result.reason, result.rejected) == ("approval", word == "rejected")
    assert result.until == stands.get("until_at")
    assert "Nothing was executed." in result.message
    assert stands.get("reason", word) in result.message
    assert [row.id for row in await depot.rows()] == [asked]
    assert depot.ledger() == []


@pytest.mark.parametrize(
    "stands",
    [
        {"ended": "expired"},
        {"ended": "cancelled", "ended_reason": "withdrawn: changed since asked"},
        {"ended": "cancelled", "ended_reason": "refused: 403"},
        {"ended": "rejected", "until_at": NOW},
        {"ended": "rejected", "superseded_at": NOW},
    ],
)
async def test_an_ended_request_that_is_forgotten_lets_people_be_asked_again(
    depot: Depot, stands: dict[str, Any]
) -> None:
    asked = await ended_request(depot, stands)
    result = await depot.send({"parcel_id": 7})
    assert isinstance(result, Pending)
    assert result.request_id != asked


@pytest.mark.parametrize("stands", [{"decision": None}, YES, YES | {"claim_id": "another"}, {"expires_at": EARLIER}])
async def test_an_unended_request_is_never_asked_a_second_time(depot: Depot, stands: dict[str, Any]) -> None:
    """Pending, approved, spent, lapsed: never two live cards for one call."""
    asked = await ended_request(depot, stands)
    result = await depot.send({"parcel_id": 7})
    assert isinstance(result, Pending)
    assert result.request_id == asked
    assert len(await depot.rows()) == 1


async def ended_request(depot: Depot, stands: dict[str, Any]) -> str:
    """The id of a request for parcel 7 that stands so, and that the courier's ledger knows nothing of any more."""
    asked: str = (await depot.send({"parcel_id": 7})).request_id
    await depot.world.change(ApprovalRow, asked, **stands)
    awake(depot.world.system.host, "courier", "main")._agent.sql("DELETE FROM ledger")
    return asked
