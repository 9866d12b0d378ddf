"""What the app may ask of a host, whichever it is."""

from collections.abc import Collection, Iterable
from typing import Any, Protocol, runtime_checkable


class Stub(Protocol):
    """One instance, from outside. It need not be awake."""

    async def call(self, method: str, *arguments: Any) -> Any:
        """Run one of the agent's `rpc` methods as a turn; the arguments and the answer are plain JSON values."""

    async def pause(self, callback: str, key: str, note: str | None, by: str) -> bool:
        """See `Schedules.pause`. A halted agent's jobs can be paused, too."""


@runtime_checkable  # Litestar checks a dependency against its annotation
class Host(Protocol):
    @property
    def agents(self) -> Collection[str]:
        """The names of the registered agents."""

    def get(self, agent: str, instance: str) -> Stub:
        """Raises AgentNotRegistered."""

    def lag_s(self) -> float | None:
        """How late the most overdue alarm is, in seconds; 0 when none is due, None when this process runs no agents."""

    async def follow_brakes(self) -> None:
        """The brakes in the database have changed: what they hold stops before its next call, the rest goes on."""

    def wake(self, answered: Iterable[tuple[str, str]]) -> None:
        """(principal key, request id) of requests that have just been answered; their agents deliver them now.

        Returns at once, and may be lost with the process: the ledger's own alarm finds what a wake did not.
        """
