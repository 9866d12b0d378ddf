"""What the contract suite needs of a host to hold it to its promises. A host of another kind is another class of these.

The embedded one is in `embedded.py`, the one of Durable Objects in `tests/workers/contract/`.
"""

from typing import Any, Protocol

from app.runtime.durable.agent import Agent
from app.runtime.durable.storage import Row
from tests.clock import Clock


class HostUnderTest(Protocol):
    """One host after another over one place. It reads the time from `clock`, and rings when it is told to."""

    clock: Clock

    async def start(self, **agents: type[Agent[Any]]) -> None:
        """A deploy with these agents, each under its keyword; a restart, when one runs already."""

    async def kill(self) -> None:
        """Break off what is under way; `start` comes next. (Real processes are killed in tests/acceptance/.)"""

    def evict(self) -> None:
        """Drop every idle instance from memory."""

    async def ring(self, **delta: float) -> int:
        """Move the clock, and ring what is due by then. Returns how many alarms rang."""

    async def call(self, agent: str, instance: str, method: str) -> Any: ...

    async def answer(self, agent: str, instance: str, request_id: str, *, wake: bool = True) -> None:
        """A person says yes to what the instance has asked, and its wake is over."""

    def sql(self, agent: str, instance: str, query: str) -> list[Row]:
        """A look into the instance's private database."""

    def close(self) -> None: ...


def next_runs(host: HostUnderTest, agent: str = "worker", instance: str = "main") -> dict[str, str]:
    """When each of its schedules runs next, by callback and key."""
    rows = host.sql(agent, instance, "SELECT callback || key AS name, next_at FROM schedules ORDER BY name")
    return {row["name"]: row["next_at"] for row in rows}
