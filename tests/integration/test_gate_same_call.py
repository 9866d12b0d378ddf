"""What counts as the same call: by what people are asked, by what the ledger repeats, and over HTTP."""

from pathlib import Path
from typing import Any

import pytest

from app.runtime.tools.fingerprint import fingerprint
from app.runtime.tools.results import Denied, Done, Pending
from tests.support_tools import Depot, a_depot

pytestmark = pytest.mark.anyio


@pytest.fixture
async def depot(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        yield depot


def flags(**of: Any) -> dict[str, Any]:
    return {"parcel_id": 7, "flags": of}


SAME = [
    ({"parcel_id": 7, "note": "x"}, {"note": "x", "parcel_id": 7}),
    (flags(a={"b": 1, "c": 2}), flags(a={"c": 2, "b": 1})),
    ({"parcel_id": 7}, {"parcel_id": 7, "note": "none", "flags": {}}),
    (flags(n=-0.0), flags(n=0.0)),
]
DIFFERENT = [
    (flags(n=2**53), flags(n=2**53 + 1)),
    (flags(n=2**53), flags(n=float(2**53))),
    (flags(n=2**70), flags(n=2**70 + 1)),
    (flags(n=0), flags(n=0.0)),
    (flags(n=100), flags(n=1e2)),
    (flags(n=1), flags(n=True)),
    (flags(n=None), flags()),
    (flags(l=[1, 2]), flags(l=[2, 1])),
    ({"parcel_id": 7, "note": "\u00e9"}, {"parcel_id": 7, "note": "e\u0301"}),
]


@pytest.mark.parametrize(("one", "other"), SAME)
async def test_the_same_call_in_another_spelling_is_one_question_and_runs_once(
    depot: Depot, one: dict[str, Any], other: dict[str, Any]
) -> None:
    asked = await depot.send(one)
    assert (await depot.send(other)).request_id == asked.request_id
    await depot.world.approve(asked.request_id)
    assert len(depot.sent) == 1
    again = await depot.send(other)
    assert isinstance(again, Denied)
    assert "used" in again.message
    assert len(depot.sent) == len(await depot.rows()) == 1


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
async def test_a_different_call_needs_an_answer_of_its_own(
    depot: Depot, one: dict[str, Any], other: dict[str, Any]
) -> None:
    asked, another = await depot.send(one), await depot.send(other)
    assert asked.request_id != another.request_id
    await depot.world.approve(asked.request_id)
    [sent] = depot.sent
    assert (sent.note, repr(sent.flags)) == (one.get("note", "none"), repr(one.get("flags", {})))
    assert await depot.world.pending() == [another.request_id]


@pytest.mark.parametrize("value", ["7", 7.0, True, None, [7], 2**53 * 1.0])
async def test_another_type_is_refused_and_asks_nobody(depot: Depot, value: Any) -> None:
    result = await depot.send({"parcel_id": value})
    assert isinstance(result, Done)
    assert result.outcome.status == 422
    assert "parcel_id" in result.outcome.message
    assert "Nothing was executed." in result.outcome.message
    assert await depot.rows() == depot.ledger() == []


@pytest.mark.parametrize(
    "arguments",
    [flags(n=float("nan")), flags(n=[float("inf")]), {"parcel_id": 7, "note": "\ud800"}, flags(**{"\ud800": 1})],
)
async def test_what_json_cannot_say_is_refused_and_asks_nobody(depot: Depot, arguments: dict[str, Any]) -> None:
    result = await depot.send(arguments)
    assert isinstance(result, Done)
    assert result.outcome.status == 422
    assert await depot.rows() == depot.ledger() == []


@pytest.mark.parametrize("arguments", [{"parcel_id": 7, "nite": "x"}, {"note": "x"}, {}])
async def test_a_key_too_many_or_too_few_is_refused_by_name(depot: Depot, arguments: dict[str, Any]) -> None:
    result = await depot.send(arguments)
    assert isinstance(result, Done)
    assert result.outcome.status == 422
    assert ("nite" if "nite" in arguments else "parcel_id") in result.outcome.message


@pytest.mark.parametrize(
    "body",
    [
        *('{"note": 7}', '{"note": true}', '{"note": null}', '{"flags": []}', '{"nite": "x"}', "[]", ""),
        *('{"note": "a", "note": "b"}', '{"flags": {"n": 1, "n": 2}}', '{"flags": {"n": NaN}}'),
        *('{"flags": {"n": Infinity}}', '{"note": "\\ud800"}', '{"note": "\\u0000"}'),
    ],
)
async def test_the_route_refuses_the_same_bodies_over_http(depot: Depot, body: str) -> None:
    answer = await depot.world.client.post(
        "/parcels/7/send", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert depot.sent == []


@pytest.mark.parametrize("call", [one for one, _ in SAME + DIFFERENT] + [flags(x=5e-324, y=[1e22, {"z": "ü😀\x7f"}])])
async def test_the_ledger_repeats_after_a_restart_exactly_what_a_person_saw(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, call: dict[str, Any]
) -> None:
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        asked = await depot.send(call)
        assert isinstance(asked, Pending)
        await depot.world.approve(asked.request_id, wake=False)
        [row] = await depot.rows()
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        [sent] = depot.sent
        ran = {"parcel_id": sent.parcel_id, "note": sent.note, "flags": sent.flags}
        assert fingerprint(ran) == row.fingerprint == fingerprint(row.input)
