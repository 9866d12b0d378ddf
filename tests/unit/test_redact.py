"""What people and logs must not see."""

import copy
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.runtime.tools.redact import DEPTH_MAX, SECRET, redact, redact_text, secrets_in

HIDDEN = "[REDACTED]"
keys = st.sampled_from(["id", "note", "api_key", "x-auth-token", "Session ID", "slotProvider"]) | st.text(max_size=3)
texts = st.sampled_from(
    ["token=", '"', "{", ":", "Bearer ", "https://", "@", "[REDACTED]", "\\", "'", "\n", "a1B2", "password"]
)
plain = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(texts, max_size=8).map("".join)
values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=10)


SPELLINGS = ("API-Key", "api_key", "api.key", "X-Api-Key", "Private Key", "x-session-id", "userPassword", "a/p/i k\ney")


@pytest.mark.parametrize("key", [*SECRET, *SPELLINGS])
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


@pytest.mark.parametrize("key", [7, None, True, ("api", "key"), b"token"])
def test_a_key_need_not_be_a_text(key: Any) -> None:
    assert redact({key: "mark"}) == {key: "mark" if key in (7, None, True) else HIDDEN}


def test_a_tuple_is_looked_into_like_a_list() -> None:
    assert redact({"a": ({"pwd": 1},)}) == {"a": [{"pwd": HIDDEN}]}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("failed: password=mark", "failed: password=[REDACTED]"),
        ("{'password': 'mark it'}", "{'password': '[REDACTED]'}"),
        ('set passphrase: "mark \\" it", then go', 'set passphrase: "[REDACTED]", then go'),
        ("api key = mark; next", "api key = [REDACTED]; next"),
        ("X-Api-Key: mark", "X-Api-Key: [REDACTED]"),
        ("?access_token=mark&page=2", "?access_token=[REDACTED]&page=2"),
        ("https://u:mark@host/a?b=c@d", "https://[REDACTED]@host/a?b=c@d"),
        ("postgres://u:ma:rk@host", "postgres://[REDACTED]@host"),
        ("use Bearer mark-I, please", "use Bearer [REDACTED], please"),
        ("Authorization: Bearer mark", "Authorization: [REDACTED]"),
        ("curl -H 'authorization: Basic bWFyaw=='", "curl -H 'authorization: [REDACTED]'"),
        ("Basic bWFyazptYXJr", "Basic [REDACTED]"),
        ("Set-Cookie: sid=mark; Path=/; HttpOnly\nnext", "Set-Cookie: [REDACTED]\nnext"),
        ('x {\\"token\\":\\"mark\\"}', 'x {\\"token\\":\\"[REDACTED]\\"}'),
        ('x {"token": {"a": "mark"}}\nnext', 'x {"token": [REDACTED]\nnext'),
        ("key sk-proj-mark0123456789abcdef.", "key [REDACTED]."),
        ("ghp_mark0123456789abcdef0123456789abcdef", HIDDEN),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", HIDDEN),
        ("trg_0123456789ab_mark-with_everything", HIDDEN),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nmark\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----[REDACTED]-----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_what_looks_like_a_credential_is_hidden_in_a_sentence(text: str, shown: str) -> None:
    assert redact_text(text) == redact_text(shown) == shown
    assert redact({"note": [text]}) == {"note": [shown]}


@pytest.mark.parametrize(
    "text",
    [
        "A tools token works at /mcp only. Nothing was executed.",
        "The header does not hold one valid bearer token. Nothing was executed.",
        'Closes ticket 1, "Login page 500s on Safari". An operator spoke last; nobody was active since 2026-03-01.',
        "a basic understanding, Basic Authentication, the secret of it, ops@example.test, https://host/?a=b@c",
        "sk-1 and trg_ and 12:30, cookies are eaten",
    ],
)
def test_an_innocent_sentence_is_left_alone(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize("hidden", [{"a": {"Token": "mark"}}, [{"api_key": 1}], {"note": "password=mark"}])
def test_json_in_a_text_is_redacted_like_any_other(hidden: Any) -> None:
    once = json.dumps(hidden)
    assert json.loads(redact({"blob": once})["blob"]) == redact(hidden)
    twice = json.dumps(once)
    assert json.loads(json.loads(redact({"blob": twice})["blob"])) == redact(hidden)


@pytest.mark.parametrize("text", ['{"a": 1,  "b": [2]}', "[not json", '"', "{" * 5_000, '["\ud800"]', "[1e999]"])
def test_a_text_with_nothing_to_hide_stays_as_it_was_written(text: str) -> None:
    assert redact({"blob": text}) == {"blob": text}


def test_of_two_equal_keys_in_a_text_neither_shows_its_secret() -> None:
    text = '{"password": "mark", "password": "[REDACTED]"}'
    assert "mark" not in redact({"blob": text})["blob"]


def test_a_tools_own_fragments_hide_in_json_too() -> None:
    assert redact({"blob": '{"pin":7}'}, ("pin",)) == {"blob": '{"pin":"[REDACTED]"}'}


def test_the_texts_that_were_hidden_can_be_looked_for_in_a_message() -> None:
    value = {"a": [{"pwd": "mark-A"}], "token": {"x": ["mark-B", "abc", 7]}, "note": "plain"}
    assert secrets_in(value) == {"mark-A", "mark-B"}
    assert secrets_in({"pin": "1234"}, ("pin",)) == {"1234"}


UNITS = (
    *('token="', 'token=\\"', "password='", "eyJ-", "eyJaaaaaa.", "bearer ", "https://", "://a@", "basic a", "sk-"),
    *('{"a":', "[", '"', "\\", "cookie:", "session[\"']", " ", "trg_a_", "tokentoken", "token={", "token:"),
    "-----BEGIN PRIVATE KEY-----",
)


@pytest.mark.parametrize("unit", UNITS)
def test_a_longer_text_takes_longer_in_proportion(unit: str) -> None:
    """Ten times the text in less than forty times the time: a pattern that goes back and forth takes a hundred."""
    times = []
    for size in (50_000, 500_000):
        text = (unit * size)[:size]
        times.append(min(_cpu_s(text) for _ in range(2)))
    assert times[1] < 40 * times[0] + 0.02


def _cpu_s(text: str) -> float:
    started = time.process_time()
    redact({"note": text})
    return time.process_time() - started
