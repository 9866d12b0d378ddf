"""What people and logs must not see."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.runtime.tools.redact import DEPTH_MAX, SECRET, redact

HIDDEN = "[REDACTED]"
keys = st.sampled_from(["id", "note", "api_key", "x-auth-token", "Session ID", "slotProvider"]) | st.text(max_size=3)
plain = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=10)


@pytest.mark.parametrize("key", [*SECRET, "API-Key", "api_key", "Private Key", "x-session-id", "userPassword", "JWT"])
def test_a_key_that_sounds_like_a_secret_hides_its_whole_value(key: str) -> None:
    assert redact({key: {"deep": [1]}, "note": "kept"}) == {key: HIDDEN, "note": "kept"}


@pytest.mark.parametrize("key", ["slotProvider", "notPublic", "otp", "id", "author", "keys"])
def test_an_innocent_key_is_left_alone(key: str) -> None:
    assert redact({key: "kept"}) == {key: "kept"}


def test_a_tool_may_name_more_fragments() -> None:
    assert redact({"user_id": 1, "note": "a"}, ("ID",)) == {"user_id": HIDDEN, "note": "a"}


@pytest.mark.parametrize("fragment", ["", "-", " _ "])
def test_a_fragment_of_nothing_hides_nothing(fragment: str) -> None:
    assert redact({"note": "kept"}, (fragment,)) == {"note": "kept"}


def test_it_looks_into_every_depth() -> None:
    given_value = {"a": [{"b": [[{"token": "t"}]]}]}
    assert redact(given_value) == {"a": [{"b": [[{"token": HIDDEN}]]}]}


def test_what_never_ends_is_cut_off() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    shown, depth = redact(endless), 0
    while isinstance(shown, dict):
        shown, depth = shown["again"], depth + 1
    assert (shown, depth) == ("[TRUNCATED]", DEPTH_MAX + 1)


@given(values)
def test_the_input_stays_untouched_and_a_second_pass_changes_nothing(value: Any) -> None:
    before = copy.deepcopy(value)
    once = redact(value)
    assert value == before
    assert redact(once) == once
