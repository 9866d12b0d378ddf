"""When two calls are the same call."""

import asyncio
import json
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.runtime.durable.cipher import AppKeyCipher
from app.runtime.durable.ledger import Ledger
from app.runtime.durable.storage import SqliteStorage
from app.runtime.tools.fingerprint import canonical, fingerprint
from app.runtime.tools.gate import ParkedCall
from tests.support import NOW
from tests.world import KEY

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=10,
)
calls = st.dictionaries(texts, values, max_size=4)

VECTORS = {
    "{}": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    '{"id":1}': "037c9214eef74cc3887f3a4f085b4e17d76280dafd273b0ee160c09c4ba1cfd4",
    '{"id":"1"}': "5811967f540d300d249ab30ae681359a7815fdb5d3dc71a94be1d491006a6b27",
    '{"a":1,"b":{"x":1,"y":2}}': "ca7a7c6cde8062a260c631854aab1e42e3510b86667e76b77ee42941495bdf07",
}


def upside_down(value: Any) -> Any:
    """The same value, its keys in the opposite order at every depth."""
    if isinstance(value, dict):
        return {key: upside_down(item) for key, item in reversed(value.items())}
    return [upside_down(item) for item in value] if isinstance(value, list) else value


def is_same(one: Any, other: Any) -> bool:
    """Equal as JSON means it: no number is a truth value, and a whole number is not a fraction's spelling."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("text", VECTORS)
def test_known_calls_have_known_fingerprints(text: str) -> None:
    assert fingerprint(json.loads(text)) == VECTORS[text]


@given(calls)
def test_the_order_of_keys_does_not_matter_at_any_depth(call: dict[str, Any]) -> None:
    assert canonical(upside_down(call)) == canonical(call)


@given(calls, calls)
def test_two_calls_share_a_text_exactly_when_they_are_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (canonical(one) == canonical(other)) == is_same(one, other)


@given(calls)
def test_a_call_that_went_through_json_is_still_the_same_call(call: dict[str, Any]) -> None:
    """The ledger keeps arguments as JSON, and dispatch sends them as JSON."""
    assert fingerprint(json.loads(json.dumps(call))) == fingerprint(call)
    assert fingerprint(msgspec.json.decode(msgspec.json.encode(call))) == fingerprint(call)


@given(calls)
def test_the_text_is_json_that_has_that_text_again(call: dict[str, Any]) -> None:
    assert canonical(json.loads(canonical(call))) == canonical(call)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (5, "5"),
        (1, True),
        (0, False),
        (None, "null"),
        (2**53, 2**53 + 1),
        (2**53, float(2**53)),
        (2**64, 2**64 + 1),
        ([1, 2], [2, 1]),
        ({"a": None}, {}),
        ("\u00e9", "e\u0301"),
        ("", None),
    ],
)
def test_neighbouring_values_are_different_calls(one: Any, other: Any) -> None:
    assert fingerprint({"x": one}) != fingerprint({"x": other})


def test_minus_zero_is_zero_and_no_whole_number() -> None:
    assert canonical({"x": -0.0}) == canonical({"x": 0.0}) == b'{"x":0.0}'
    assert canonical({"x": 0}) == b'{"x":0}'


def test_texts_stay_unescaped_and_keys_are_in_order_of_code_points() -> None:
    assert canonical({"\U0001f600": 1, "\uffee": 2, "é": "ü\n"}) == '{"é":"ü\\n","\uffee":2,"\U0001f600":1}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), "\ud800", {"\udfff": 1}])
def test_what_json_cannot_say_is_refused_at_any_depth(value: Any) -> None:
    for call in ({"x": value}, {"x": [{"y": value}]}):
        with pytest.raises(ValueError, match=r"not a number|surrogate"):
            fingerprint(call)


@given(texts.filter(lambda text: len(text) > 4))
def test_a_fingerprint_is_64_hex_digits_and_tells_nothing(secret: str) -> None:
    mark = fingerprint({"note": secret})
    assert len(mark) == 64
    assert int(mark, 16) >= 0
    assert secret not in mark


def test_what_is_nested_without_end_is_refused() -> None:
    call: dict[str, Any] = {}
    for _ in range(5_000):
        call = {"x": call}
    with pytest.raises(ValueError, match="nested too deeply"):
        fingerprint(call)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    cipher = AppKeyCipher([KEY], "ledger", bytes)
    return Ledger(SqliteStorage(tmp_path / "i.sqlite", "NORMAL"), cipher, "agent:courier:main", lambda _: None)


_ids = count()


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls)
def test_a_call_that_was_sealed_and_opened_again_is_still_the_same_call(ledger: Ledger, call: dict[str, Any]) -> None:
    request_id = str(next(_ids))

    async def there_and_back() -> dict[str, Any]:
        await ledger.intend(ParkedCall(request_id, "parcels_send", "parcel:7", fingerprint(call), call), NOW)
        [row] = ledger.rows([request_id])
        assert row.fingerprint == fingerprint(call)
        return await ledger.open(row)

    assert canonical(asyncio.run(there_and_back())) == canonical(call)


@given(st.integers(-(2**70), 2**70), st.sampled_from([1, -1, 0.0, True]))
def test_a_number_and_its_neighbour_are_two_calls_at_any_depth(number: int, step: float) -> None:
    """True stands for the truth value itself, 0.0 for the fraction's spelling of the same number."""
    other = True if step is True else float(number) if step == 0.0 else number + int(step)
    assert fingerprint({"a": [{"n": number}]}) != fingerprint({"a": [{"n": other}]})
