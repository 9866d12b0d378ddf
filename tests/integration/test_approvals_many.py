"""One answer to many requests: each is answered that can be, and a result says what became of every one."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from db.schema import EventRow
from tests.support import a_spent_approval, a_ticket, ago, an_approval
from tests.support_tools import statements
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

NO: dict[str, Any] = {"decision": "rejected", "decided_at": ago(1), "decided_by": "Ana", "ended": "rejected"}
YES: dict[str, Any] = {"decision": "approved", "decided_at": ago(1), "decided_by": "Ana", "use_by": ago(-1)}


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


async def asked(world: World, number: int, **columns: Any) -> str:
    return await world.system.db.write(an_approval, number, shown=f"mark {number}", **columns)


def seen(*numbers: int) -> list[dict[str, str]]:
    return [{"id": f"request-{number}-1", "fingerprint": f"mark {number}"} for number in numbers]


async def answer(world: World, decision: str, requests: list[dict[str, str]], **more: Any) -> Any:
    return await world.client.post("/approvals/answer", json={"decision": decision, "requests": requests, **more})


async def results(world: World, *args: Any, **more: Any) -> dict[str, tuple[str, bool, str | None]]:
    answered = await answer(world, *args, **more)
    assert answered.status_code == 200, answer
    return {one["id"]: (one["outcome"], one["ok"], one["decided_by"]) for one in answered.json()["results"]}


async def events(world: World) -> list[tuple[str, str, str, dict[str, Any]]]:
    rows = await world.system.db.read(lambda s: list(s.scalars(select(EventRow).order_by(EventRow.subject))))
    return [(row.kind, row.subject, row.request_id, row.data) for row in rows]


async def test_a_yes_to_several_is_carried_out_for_each(world: World) -> None:
    tickets = [await world.system.db.write(a_ticket) for _ in range(3)]
    await world.sweep()
    pending = (await world.client.get("/approvals")).json()["pending"]
    chosen = [{"id": one["id"], "fingerprint": one["fingerprint"]} for one in pending[:2]]
    told = await results(world, "approved", chosen, reason="spring cleaning")
    assert list(told.values()) == [("approved", True, "Ops On-Call")] * 2
    await world.system.host.drain()
    assert [(await world.ticket(number)).status for number in tickets] == ["closed", "closed", "open"]
    assert await world.pending() == [pending[2]["id"]]
    assert await world.events("ticket:1") == ["approved", "closed"]
    assert (await world.approval(chosen[1]["id"])).reason == "spring cleaning"


async def test_fifty_answers_cost_three_statements_and_write_an_event_each(world: World) -> None:
    for number in range(50):
        await asked(world, number)
    ran = statements(world.system.db)
    told = await results(world, "rejected", seen(*range(50)), reason="password=hunter2", until_at=ago(-3))
    assert [statement.split()[0] for statement in ran[:3]] == ["SELECT", "UPDATE", "INSERT"]
    assert [*told] == [f"request-{number}-1" for number in range(50)]
    assert {*told.values()} == {("rejected", True, "Ops On-Call")}
    row = await world.approval("request-7-1")
    assert (row.ended, row.ended_at, row.until_at, row.reason) == ("rejected", ago(0), ago(-3), "password=[REDACTED]")
    said = {"reason": "password=[REDACTED]"}
    assert sorted(await events(world)) == sorted(
        ("rejected", f"ticket:{number}", f"request-{number}-1", said) for number in range(50)
    )


async def test_what_cannot_be_answered_is_told_apart_and_stops_nothing(world: World) -> None:
    stands: list[tuple[str, dict[str, Any]]] = [
        ("rejected", NO),
        ("approved", YES),
        ("approved", YES | {"ended": "cancelled"}),
        ("expired", {"expires_at": ago(0)}),
        ("cancelled", {"ended": "cancelled"}),
    ]
    for number, (_, columns) in enumerate(stands):
        await asked(world, number, **columns)
    await asked(world, 5)
    await asked(world, 6)
    ran = statements(world.system.db)
    unknown, other = {"id": "nobody", "fingerprint": ""}, {"id": "request-6-1", "fingerprint": "mark 5"}
    told = await results(world, "approved", [*seen(0, 1, 2, 3, 4, 5), other, unknown])
    assert [statement.split()[0] for statement in ran[:4]] == ["SELECT", "UPDATE", "INSERT", "SELECT"]
    assert [word for word, ok, _ in told.values() if not ok] == [word for word, _ in stands] + [
        "not as shown",
        "not found",
    ]
    assert told["request-0-1"] == ("rejected", False, "Ana")
    assert told["request-5-1"] == ("approved", True, "Ops On-Call")
    assert [(kind, subject) for kind, subject, _, _ in await events(world)] == [("approved", "ticket:5")]
    assert (await world.approval("request-6-1")).decision is None


async def test_while_halted_none_is_answered(world: World) -> None:
    await asked(world, 1)
    await asked(world, 2, principal_key="token:7")
    assert (await world.client.post("/ops/agents/halt", json={"agent": "triager"})).status_code == 200
    told = await results(world, "approved", seen(1, 2))
    assert told == {"request-1-1": ("halted", False, None), "request-2-1": ("approved", True, "Ops On-Call")}
    assert (await world.approval("request-1-1")).decision is None


async def test_only_who_was_answered_is_woken(world: World) -> None:
    woken: list[Any] = []
    world.system.host.wake = woken.extend  # type: ignore[method-assign,assignment]
    await asked(world, 1)
    await asked(world, 2, **YES)
    await results(world, "rejected", seen(1, 2))
    assert woken == [("agent:triager:main", "request-1-1")]


async def test_a_request_that_is_named_twice_is_answered_once(world: World) -> None:
    await asked(world, 1)
    assert await results(world, "approved", seen(1, 1)) == {"request-1-1": ("approved", True, "Ops On-Call")}
    assert len(await events(world)) == 1


@pytest.mark.parametrize(
    ("decision", "requests", "more"),
    [
        ("approved", [], {}),
        ("approved", seen(*range(51)), {}),
        ("maybe", seen(1), {}),
        ("approved", [{"id": "request-1-1"}], {}),
        ("approved", [{"id": 1, "fingerprint": "mark 1"}], {}),
        ("approved", seen(1), {"until_at": ago(-3)}),
        ("approved", seen(1), {"until_window_ends": True}),
        ("rejected", seen(1), {"until_at": ago(0)}),
        ("rejected", seen(1), {"until_at": ago(-3), "until_window_ends": True}),
        ("rejected", seen(1), {"decided_by": "Ana"}),
        ("rejected", seen(1), {"reason": "x" * 1_001}),
    ],
)
async def test_what_cannot_be_meant_decides_nothing(
    world: World, decision: str, requests: list[dict[str, str]], more: dict[str, Any]
) -> None:
    await asked(world, 1)
    assert (await answer(world, decision, requests, **more)).status_code == 422
    assert (await world.approval("request-1-1")).decision is None


async def test_one_answer_may_say_what_it_saw_too(world: World) -> None:
    await asked(world, 1)
    refused = await world.client.post("/approvals/request-1-1/approve", json={"fingerprint": "mark 2"})
    assert (refused.status_code, refused.json()["state"]) == (409, "pending")
    assert "Nothing was decided. Look at it again." in refused.json()["detail"]
    refused = await world.client.post("/approvals/request-1-1/reject", json={"fingerprint": ""})
    assert refused.status_code == 409
    assert (await world.approval("request-1-1")).decision is None
    answered = await world.client.post("/approvals/request-1-1/approve", json={"fingerprint": "mark 1"})
    assert (answered.status_code, answered.json()["fingerprint"]) == (200, "mark 1")
    again = await world.client.post("/approvals/request-1-1/approve", json={"fingerprint": "mark 2"})
    assert again.json()["state"] == "approved"


async def test_what_is_being_carried_out_is_answered_already(world: World) -> None:
    spent = await world.system.db.write(a_spent_approval, shown="mark 1")
    assert await results(world, "rejected", seen(1)) == {spent: ("approved", False, "Ops On-Call")}
