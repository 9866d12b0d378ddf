"""Agents that show what their host does with them."""

import asyncio
from typing import Any

from msgspec import Struct

from app.runtime.durable.agent import Agent, Settled
from app.runtime.tools.results import Pending


class Seen(Struct, frozen=True):
    runs: tuple[Any, ...] = ()


class Worker(Agent[Seen]):
    """Registers `jobs` at every start. What it is told, it remembers."""

    state_type = Seen
    rpc = ("read", "touch")
    jobs: tuple[tuple[Any, dict[str, Any]], ...] = ()

    async def on_start(self) -> None:
        for when, options in self.jobs:
            await self.schedule(when, self.job, **options)

    async def job(self, payload: Any = None) -> None:
        self.saw(payload)

    async def read(self) -> list[Any]:
        return list(self.state.runs)

    async def touch(self) -> None:
        """A turn in which nothing happens."""

    def saw(self, what: Any) -> None:
        self.set_state(Seen((*self.state.runs, what)))


def working(*jobs: tuple[Any, dict[str, Any]]) -> type[Worker]:
    return type("Working", (Worker,), {"jobs": jobs})


class Asker(Worker):
    """Asks to send a parcel, the next one each time."""

    rpc = ("read", "ask")

    async def ask(self) -> str:
        number = len(self.sql("SELECT 1 FROM ledger")) + len(self.state.runs) + 1
        result = await self.tools.call("parcels_send", {"parcel": number})
        assert isinstance(result, Pending)
        return result.request_id

    async def on_tool_approval_settled(self, event: Settled) -> None:
        self.saw([event.request_id, event.status, event.ran])


class Count(Struct, frozen=True):
    value: int = 0


class CountSince(Struct, frozen=True):
    """What a later deploy makes of Count."""

    value: int = 0
    since: str = "the beginning"


class Counter(Agent[Any]):
    state_type: type[Struct] = Count
    rpc = ("add", "read", "note", "notes", "fail")

    async def add(self) -> int:
        """Reads, lets others go first, and writes: two at once would lose one."""
        seen = self.state.value
        await asyncio.sleep(0)
        self.set_state(Count(seen + 1))
        return int(seen + 1)

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
