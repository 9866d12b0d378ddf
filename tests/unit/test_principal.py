"""The key that approvals and events are bound to names one instance, and no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.runtime.principal import Principal, agent_of

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)


@given(NAMES, NAMES)
def test_two_instances_never_share_a_key_and_a_key_leads_back_to_its_instance(one: str, other: str) -> None:
    keys = [Principal.agent("triager", name).key for name in (one, other)]
    assert [agent_of(key) for key in keys] == [("triager", one), ("triager", other)]
    assert (keys[0] == keys[1]) == (one == other)


def test_a_plain_name_reads_as_itself() -> None:
    assert Principal.agent("triager", "main").key == "agent:triager:main"
    assert Principal.agent("triager", "a:b").key == "agent:triager:a%3Ab"
    assert Principal.agent("triager", "a%3Ab").key == "agent:triager:a%253Ab"


@pytest.mark.parametrize("key", ["operator:1", "token:x", "agent:triager", "agent", "", "operator:triager:main"])
def test_a_key_that_is_no_agents_leads_to_no_agent(key: str) -> None:
    assert agent_of(key) is None
