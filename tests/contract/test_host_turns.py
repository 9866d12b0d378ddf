"""Who an instance is, what it keeps, and that its turns come one at a time."""

import asyncio

import pytest

from app.runtime.errors import AgentNotRegistered, WiringError
from tests.contract.agents import Counter, CounterWithMore, Worker
from tests.contract.host_under_test import HostUnderTest

pytestmark = pytest.mark.anyio


async def test_turns_of_one_instance_do_not_overlap(host: HostUnderTest) -> None:
    await host.start(counter=Counter)
    added = await asyncio.gather(*(host.call("counter", "main", "add") for _ in range(20)))
    assert sorted(added) == list(range(1, 21))


async def test_a_turn_that_fails_lets_the_next_one_in(host: HostUnderTest) -> None:
    await host.start(counter=Counter)
    with pytest.raises(RuntimeError, match="as told"):
        await host.call("counter", "main", "fail")
    assert await host.call("counter", "main", "add") == 1


@pytest.mark.parametrize("evicted", [False, True])
async def test_state_outlives_its_process_and_a_later_deploys_fields_take_their_defaults(
    host: HostUnderTest, evicted: bool
) -> None:
    await host.start(counter=Counter)
    await host.call("counter", "main", "add")
    if evicted:
        host.evict()
        assert await host.call("counter", "main", "read") == {"value": 1}
    await host.start(counter=CounterWithMore)
    assert await host.call("counter", "main", "read") == {"value": 1, "since": "the beginning"}


async def test_an_instance_that_nothing_happened_to_has_its_states_defaults(host: HostUnderTest) -> None:
    await host.start(counter=CounterWithMore)
    assert await host.call("counter", "nobody yet", "read") == {"value": 0, "since": "the beginning"}


async def test_each_instance_has_a_database_of_its_own_that_eviction_leaves_alone(host: HostUnderTest) -> None:
    await host.start(counter=Counter)
    for name in ("one", "two", "two"):
        await host.call("counter", name, "note")
        host.evict()
    assert await host.call("counter", "one", "notes") == ["by one"]
    assert await host.call("counter", "two", "notes") == ["by two", "by two"]


async def test_agents_of_one_instance_name_are_two(host: HostUnderTest) -> None:
    await host.start(counter=Counter, other=Counter)
    await host.call("counter", "main", "add")
    assert await host.call("other", "main", "read") == {"value": 0}


A_UMLAUT = ("\u00e4", "a\u0308")  # one letter to a reader, two names
NAMES = [
    *("main", "Main", "a:b", "a%3Ab", "..", "../..", ".", "a/b", "/etc/passwd", "x?mode=memory", "x%2e%2e", "a#b"),
    *("", "dot.", "dot", "space ", "space", " ", "a\0b", "n" * 300, "n" * 301, *A_UMLAUT),
]


async def test_no_two_names_are_one_instance(host: HostUnderTest) -> None:
    await host.start(counter=Counter)
    for name in NAMES:
        await host.call("counter", name, "note")
    await host.start(counter=Counter)
    assert [await host.call("counter", name, "notes") for name in NAMES] == [[f"by {name}"] for name in NAMES]


async def test_only_offered_methods_can_be_called(host: HostUnderTest) -> None:
    await host.start(counter=Counter)
    for method in ("secret", "set_state", "__init__", "no_such"):
        with pytest.raises(WiringError, match=f"not {method}"):
            await host.call("counter", "main", method)


async def test_an_agent_nobody_registered_is_refused_naming_the_registry(host: HostUnderTest) -> None:
    await host.start(counter=Counter)
    with pytest.raises(AgentNotRegistered, match=r"config/agents\.py knows: counter"):
        await host.call("stranger", "main", "read")


class Unlucky(Worker):
    """Cannot start the first time."""

    tries: int = 0

    async def on_start(self) -> None:
        type(self).tries += 1
        if self.tries == 1:
            raise RuntimeError("not yet")


async def test_a_start_that_failed_is_made_again_by_the_next_turn_and_then_no_more(host: HostUnderTest) -> None:
    agent = type("UnluckyOnce", (Unlucky,), {})
    await host.start(worker=agent)
    for _ in range(3):
        assert await host.call("worker", "main", "read") == []
    assert agent.tries == 2
