"""What config/agents.py may say. Every mistake is named before anything starts."""

from typing import Any

import pytest

from app.runtime.errors import WiringError
from app.runtime.registration import AUTHORIZE, Registration, read


def entry(**changed: Any) -> dict[str, Any]:
    return {"module": "app.agents.inbox", "class": "Inbox", "scopes": ["tool:tickets_index"]} | changed


def test_an_entry_becomes_a_registration_with_sixty_calls_a_minute() -> None:
    assert read({"inbox": entry()}) == {
        "inbox": Registration("inbox", "app.agents.inbox", "Inbox", ("tool:tickets_index",), 60)
    }


@pytest.mark.parametrize("name", ["a", "A-b_9", "0"])
def test_a_name_has_letters_digits_underscores_and_hyphens(name: str) -> None:
    assert name in read({name: entry()})


@pytest.mark.parametrize("name", ["", "a:b", "a b", "a.b", "a/b", "ä", "a\n"])
def test_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(WiringError, match="a name has"):
        read({name: entry()})


def test_an_agent_may_be_allowed_nothing() -> None:
    assert read({"inbox": entry(scopes=[])})["inbox"].scopes == ()


@pytest.mark.parametrize(
    "scope", ["tools:*", "tools:read", "tickets_index", "tool:tickets.index", "tool:", "*", 7, None]
)
def test_a_scope_that_names_no_single_tool_is_refused_naming_agent_and_scope(scope: Any) -> None:
    with pytest.raises(WiringError) as caught:
        read({"inbox": entry(scopes=[scope])})
    assert f'"inbox": "{scope}" is not a scope here; write tool:<name>.' in str(caught.value)


@pytest.mark.parametrize("scopes", [None, "tool:tickets_index", 5])
def test_scopes_are_a_list(scopes: Any) -> None:
    with pytest.raises(WiringError) as caught:
        read({"inbox": entry(scopes=scopes)})
    assert str(caught.value) == 'config/agents.py: "inbox": give it a list of scopes.'


@pytest.mark.parametrize("calls", [float("inf"), float("nan"), 0, -1, 1.5, "10", True, None])
def test_a_budget_is_a_whole_number_of_at_least_one(calls: Any) -> None:
    with pytest.raises(WiringError, match="calls_per_minute"):
        read({"inbox": entry(calls_per_minute=calls)})


def test_every_mistake_of_every_agent_is_reported_in_order() -> None:
    with pytest.raises(WiringError) as caught:
        read({"one": entry(module=""), "two": entry(scopes=["*"], calls_per_minute=0)})
    said = str(caught.value)
    places = [said.index(words) for words in ('"one": give it a module', '"two": "*"', '"two": calls_per_minute')]
    assert places == sorted(places)


@pytest.mark.parametrize(("key", "meant"), [("scope", "scopes"), ("call_per_minute", "calls_per_minute"), ("x", "")])
def test_an_unknown_key_is_refused_and_says_what_may_have_been_meant(key: str, meant: str) -> None:
    with pytest.raises(WiringError) as caught:
        read({"inbox": entry(**{key: 1})})
    assert f'"inbox": there is no key "{key}".' in str(caught.value)
    assert (f'Did you mean "{meant}"?' in str(caught.value)) == bool(meant)


def test_two_agents_of_one_class_are_refused() -> None:
    with pytest.raises(WiringError, match=r"2 agents are app\.agents\.inbox\.Inbox\. Give each a class"):
        read({"one": entry(), "two": entry()})
    assert len(read({"one": entry(), "two": entry(**{"class": "Outbox"})})) == 2


@pytest.mark.parametrize(
    "function", ["", "allow", "app.access", ":allow", "app.access:", "app access:allow", True, None]
)
def test_who_may_reach_an_instance_is_said_by_a_named_function(function: Any) -> None:
    assert read({"inbox": entry(**{AUTHORIZE: "app.access:allow"})})["inbox"].authorize == "app.access:allow"
    with pytest.raises(WiringError, match="is module:function, not"):
        read({"inbox": entry(**{AUTHORIZE: function})})
