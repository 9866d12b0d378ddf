"""An agent on a real host: its state, its private database, and one turn at a time."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from app.runtime.durable.agent import Agent
from app.runtime.durable.host_embedded import EmbeddedHost
from app.runtime.errors import AgentNotRegistered, WiringError
from db.engine import Database
from tests.support_host import a_host
from tests.world import Clock

pytestmark = pytest.mark.anyio


class Count(Struct, frozen=True):
    value: int = 0


class CountSince(Struct, frozen=True):
    """What a later deploy makes of Count."""

    value: int = 0
    since: str = "the beginning"


class Counter(Agent[Any]):
    state_type = Count
    rpc = ("add", "read", "note", "notes", "fail")

    async def add(self) -> int:
        """Reads, lets others go first, and writes: two at once would lose one."""
        seen = self.state.value
        await asyncio.sleep(0)
        self.set_state(Count(seen + 1))
        return seen + 1

    async def read(self) -> Any:
        return self.state

    async def note(self) -> None:
        self.sql("CREATE TABLE IF NOT EXISTS notes (text TEXT)")
        self.sql("INSERT INTO notes VALUES (?)", f"by {self.name}")

    async def notes(self) -> list[str]:
        return [row["text"] for row in self.sql("SELECT text FROM notes")]

    async def fail(self) -> None:
        raise RuntimeError("as told")

    async def secret(self) -> str:
        return "not offered"


class CounterWithMore(Counter):
    state_type = CountSince


@pytest.fixture
def host(tmp_path: Path, database: Database, now: datetime) -> Iterator[EmbeddedHost]:
    host = a_host(tmp_path, database, Clock(now), counter=Counter)
    yield host
    host.close()


async def test_turns_of_one_instance_do_not_overlap(host: EmbeddedHost) -> None:
    main = host.get("counter", "main")
    assert sorted(await asyncio.gather(*(main.call("add") for _ in range(20)))) == list(range(1, 21))


async def test_a_turn_that_fails_lets_the_next_one_in(host: EmbeddedHost) -> None:
    main = host.get("counter", "main")
    with pytest.raises(RuntimeError, match="as told"):
        await main.call("fail")
    assert await main.call("add") == 1


async def test_state_outlives_its_process_and_a_later_deploys_fields_take_their_defaults(
    host: EmbeddedHost, tmp_path: Path, database: Database, now: datetime
) -> None:
    await host.get("counter", "main").call("add")
    host.close()
    again = a_host(tmp_path, database, Clock(now), counter=CounterWithMore)
    assert await again.get("counter", "main").call("read") == {"value": 1, "since": "the beginning"}
    again.close()


async def test_each_instance_has_a_database_of_its_own(host: EmbeddedHost) -> None:
    for name in ("one", "two", "two"):
        await host.get("counter", name).call("note")
    assert await host.get("counter", "one").call("notes") == ["by one"]
    assert await host.get("counter", "two").call("notes") == ["by two", "by two"]


async def test_only_offered_methods_can_be_called(host: EmbeddedHost) -> None:
    for method in ("secret", "set_state", "__init__", "no_such"):
        with pytest.raises(WiringError, match=f"not {method}"):
            await host.get("counter", "main").call(method)


async def test_an_agent_nobody_registered_is_refused_naming_the_registry(host: EmbeddedHost) -> None:
    with pytest.raises(AgentNotRegistered, match=r"config/agents\.py knows: counter"):
        host.get("stranger", "main")


NAMES = ["main", "Main", "a:b", "a%3Ab", "..", "../..", "/etc/passwd", "x?mode=memory", "", "é", "n" * 300]


async def test_any_name_is_one_file_inside_the_folder(host: EmbeddedHost, tmp_path: Path) -> None:
    outside = files(tmp_path) - files(tmp_path / "agents")
    for name in NAMES:
        await host.get("counter", name).call("note")
    assert [await host.get("counter", name).call("notes") for name in NAMES] == [[f"by {name}"] for name in NAMES]
    alarms = {tmp_path / "agents" / "alarms.sqlite"}
    assert len(files(tmp_path / "agents") - alarms) == len(NAMES)
    assert files(tmp_path) - files(tmp_path / "agents") == outside


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))}
