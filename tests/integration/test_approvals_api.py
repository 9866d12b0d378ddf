"""The questions to people, and their answers, over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from db.schema import ApprovalRow, EventRow
from tests.support import a_spent_approval, ago, an_approval
from tests.support_tools import statements
from tests.world import World, a_world

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


async def asked(world: World, ticket_id: int = 1, **columns: Any) -> str:
    return await world.system.db.write(an_approval, ticket_id, **columns)


async def answer(world: World, verb: str, request_id: str, **body: Any) -> Any:
    return await world.client.post(f"/approvals/{request_id}/{verb}", json=body)


async def test_a_yes_is_recorded_with_who_when_and_why(world: World) -> None:
    request = await asked(world)
    said = await answer(world, "approve", request, reason="it is stale")
    assert said.status_code == 200
    body = said.json()
    assert (body["id"], body["status"], body["principal"]) == (request, "approved", "agent:triager:main")
    assert (body["decided_by"], body["decided_at"], body["reason"]) == ("Ops On-Call", ago(0), "it is stale")
    assert (body["use_by"], body["ended_at"], body["until_at"]) == (ago(-1), None, None)  # 24 h
    assert "trace_id" not in body
    assert await last_event(world) == ("approved", "operator:1", request, {"reason": "it is stale"})


@pytest.mark.parametrize("until_at", [None, ago(-3)])
async def test_a_no_ends_the_request_and_says_how_long_it_holds(world: World, until_at: str | None) -> None:
    request = await asked(world)
    body = (await answer(world, "reject", request, until_at=until_at)).json()
    assert (body["status"], body["ended_at"], body["until_at"], body["use_by"]) == ("rejected", ago(0), until_at, None)
    assert await last_event(world) == ("rejected", "operator:1", request, {})


async def test_an_answer_costs_three_statements(world: World) -> None:
    for verb in ("approve", "reject"):
        request = await asked(world, {"approve": 1, "reject": 2}[verb])
        ran = statements(world.system.db)
        world.system.host.wake = lambda _: None  # type: ignore[method-assign]  # what the agent spends is its own turn's
        assert (await answer(world, verb, request)).status_code == 200
        assert [statement.split()[0] for statement in ran] == ["SELECT", "UPDATE", "INSERT"]


@pytest.mark.parametrize("first", ["approve", "reject"])
@pytest.mark.parametrize("second", ["approve", "reject"])
async def test_the_first_answer_stands(world: World, first: str, second: str) -> None:
    request = await asked(world)
    world.system.host.wake = lambda _: None  # type: ignore[method-assign]
    stands = (await answer(world, first, request, reason="first")).json()
    again = await answer(world, second, request, reason="second")
    assert again.status_code == 409
    assert again.json()["state"] == stands["status"] == {"approve": "approved", "reject": "rejected"}[first]
    assert "Ops On-Call" in again.json()["detail"]
    assert (await world.approval(request)).reason == "first"


@pytest.mark.parametrize(
    ("stands", "word"),
    [
        ({"expires_at": ago(0)}, "expired"),
        ({"ended": "expired"}, "expired"),
        ({"ended": "cancelled", "ended_reason": "withdrawn: moot"}, "cancelled"),
        ({"decision": "approved", "ended": "used"}, "approved"),
        ({"decision": "approved", "ended": "cancelled"}, "approved"),
        ({"decision": "approved", "claim_id": "mine", "use_by": ago(1)}, "approved"),
    ],
)
async def test_what_can_no_longer_be_answered_says_what_it_is_and_stays_so(
    world: World, stands: dict[str, Any], word: str
) -> None:
    request = await asked(world, **stands)
    for verb in ("approve", "reject"):
        refused = await answer(world, verb, request)
        assert refused.status_code == 409
        assert refused.json()["state"] == word
        assert "Nothing was decided." in refused.json()["detail"]
        assert ("ask again later" in refused.json()["detail"]) == (word == "expired")
    row = await world.approval(request)
    assert (row.decision, row.ended) == (stands.get("decision"), stands.get("ended"))
    assert await last_event(world) is None


async def test_a_request_can_be_answered_until_the_last_millisecond(world: World) -> None:
    request = await asked(world, expires_at="2026-03-09T12:00:00.001Z")
    assert (await answer(world, "approve", request)).status_code == 200


@pytest.mark.parametrize("request_id", ["nobody", "1", "%00", "00000000-0000-0000-0000-000000000000", "'--", "é"])
@pytest.mark.parametrize("verb", ["approve", "reject"])
async def test_an_unknown_request_is_not_found(world: World, verb: str, request_id: str) -> None:
    refused = await answer(world, verb, request_id)
    assert refused.status_code == 404
    assert "Nothing was decided." in refused.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        *('{"decided_by": "ops@example.test"}', '{"status": "approved"}', '{"reason": 1}', '{"until_at": "soon"}'),
        *('{"until_at": "2026-02-31T00:00:00.000Z"}', '{"until_at": "2026-99-99T99:99:99.000Z"}', "[]", "", "null"),
        *(
            '{"until_at": "\u0662\u0660\u0662\u0666-04-01T00:00:00.000Z"}',
            '{"until_at": "2026-04-01T00:00:00.000Z\\n"}',
        ),
        f'{{"reason": "{"x" * 1001}"}}',
    ],
)
async def test_a_body_that_does_not_fit_decides_nothing(world: World, body: str) -> None:
    request = await asked(world)
    headers = {"content-type": "application/json"}
    refused = await world.client.post(f"/approvals/{request}/reject", content=body, headers=headers)
    assert refused.status_code in (400, 422)
    assert (await world.approval(request)).decision is None


async def test_no_address_decides_by_itself(world: World) -> None:
    request = await asked(world)
    for verb in ("approve", "reject"):
        assert (await world.client.get(f"/approvals/{request}/{verb}")).status_code in (404, 405)
    assert (await world.approval(request)).decision is None


async def test_the_list_costs_three_statements_and_shows_what_can_be_answered_first(world: World) -> None:
    """Two of its own and one for the token. The limit counts only what can be answered: no lapsed row hides another."""
    alive = await asked(world, 1, requested_at=ago(2))
    for ticket_id in range(2, 60):
        await asked(world, ticket_id, requested_at=ago(1), expires_at=ago(0.5))
    spent = await world.system.db.write(a_spent_approval, 90)
    await world.system.db.write(an_approval, 91, fingerprint="", ended="cancelled", requested_at=ago(0))
    ran = statements(world.system.db)
    page = (await world.client.get("/approvals")).json()
    assert len(ran) == 3
    assert [one["id"] for one in page["pending"]] == [alive]
    assert len(page["resolved"]) == 20
    assert {one["status"] for one in page["resolved"]} == {"approved", "expired"}
    assert page["resolved"][0]["id"] == spent  # a tombstone was never asked


async def last_event(world: World) -> tuple[str, str, str | None, dict[str, Any]] | None:
    query = select(EventRow).where(EventRow.kind.in_(["approved", "rejected"])).order_by(EventRow.id.desc()).limit(1)
    row = await world.system.db.read(lambda s: s.scalars(query).first())
    return row and (row.kind, row.actor, row.request_id, row.data)


@pytest.mark.parametrize("column", ["expires_at", "use_by"])
@pytest.mark.parametrize("value", ["soon", "", "2026-03-09", "9999-12-31T00:00:00Z", None])
async def test_a_deadline_that_is_no_instant_cannot_be_written(world: World, column: str, value: str | None) -> None:
    """As text it would be later than any instant, and the request would never expire."""
    request = await asked(world)
    if column == "use_by" and value is None:
        return
    with pytest.raises(Exception, match=r"CHECK constraint|NOT NULL constraint"):
        await world.change(ApprovalRow, request, **{column: value})
