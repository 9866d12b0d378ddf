"""`Agent`: subclass it, schedule methods, call tools. An instance may sleep for days, or be killed, at any await."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from app.runtime.durable.delivery import Settled
from app.runtime.durable.runs import Run, Runs
from app.runtime.durable.schedules import Schedules, When
from app.runtime.durable.state import State
from app.runtime.durable.storage import Row, Storage
from app.runtime.instants import Clock
from app.runtime.tools.client import Tools

__all__ = ["Agent", "Context", "Run", "Settled", "Tools"]  # all that an agent's module needs of this package

S = TypeVar("S", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Context(Generic[S]):
    """What the host gives an instance."""

    name: str
    storage: Storage
    state: State[S]
    schedules: Schedules
    runs: Runs
    tools: Tools
    clock: Clock


class Agent(Generic[S]):
    """One turn runs at a time, so a method may read the state, await, and write it.

    `rpc` names the methods that `host.get(agent, instance).call(...)` may reach; those in `reads` change nothing, so
    their turn writes nothing either, and a halted agent answers them.
    """

    state_type: ClassVar[type[msgspec.Struct]]
    rpc: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ()

    _context: Context[S]  # set by the host, before anything else happens

    async def on_start(self) -> None:
        """Called in the first turn after a start. Register schedules here."""

    async def on_tool_approval_settled(self, event: Settled) -> None:
        """A call that waited has an end. May be called again after a crash; its state change happens once."""

    @property
    def name(self) -> str:
        return self._context.name

    @property
    def state(self) -> S:
        return self._context.state.value

    def set_state(self, state: S) -> None:
        self._context.state.set(state)

    @property
    def tools(self) -> Tools:
        return self._context.tools

    @property
    def runs(self) -> Runs:
        return self._context.runs

    @property
    def jobs(self) -> list[Row]:
        return self._context.schedules.jobs()

    def now(self) -> datetime:
        return self._context.clock()

    def sql(self, query: str, *params: Any) -> list[Row]:
        """One statement on this instance's private database."""
        return self._context.storage.sql(query, *params)

    async def schedule(
        self,
        when: When,
        callback: Callable[..., Awaitable[Any]],
        *,
        zone: str = "UTC",
        key: str = "",
        payload: Any = None,
    ) -> None:
        """Call `callback` at a cron expression's times, after a delay, or at an instant; at least once, never early."""
        self._context.schedules.put(callback.__name__, when, self.now(), zone=zone, key=key, payload=payload)
