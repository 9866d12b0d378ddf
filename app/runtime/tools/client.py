"""The tools as an agent holds them: `call`, `preflight`, `withdraw`, and what it waits for or was refused."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from app.runtime.errors import Stopping
from app.runtime.instants import Clock
from app.runtime.steps import Step, reached
from app.runtime.tools.approvals import ApprovalStore, Rejection
from app.runtime.tools.gate import ParkedCall
from app.runtime.tools.pipeline import Caller, Pipeline
from app.runtime.tools.results import ToolResult


class Waiting(Protocol):
    async def parked(self) -> list[ParkedCall]:
        """Every call in the caller's ledger; without arguments where no key opens them."""

    def ids(self) -> list[str]:
        """The request ids of every waiting call."""

    def check_soon(self, ids: list[str], now: datetime, seconds: float) -> None:
        """Look what became of these after so many seconds."""


class Tools:
    """Once the host was told to stop, `call` raises Stopping and does nothing."""

    def __init__(
        self,
        pipeline: Pipeline,
        store: ApprovalStore,
        caller: Caller,
        waiting: Waiting,
        clock: Clock,
        stopping: Callable[[], bool],
    ) -> None:
        self._pipeline, self._store, self._caller, self._waiting, self._clock = pipeline, store, caller, waiting, clock
        self._stopping = stopping

    async def call(self, name: str, arguments: dict[str, Any], *, because: str | None = None) -> ToolResult:
        """`because` tells people why, where they are asked."""
        if self._stopping():
            raise Stopping
        return await self._pipeline.invoke(self._caller, name, arguments, because)

    async def preflight(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        return await self._pipeline.preflight(self._caller, name, arguments)

    async def waiting(self) -> list[ParkedCall]:
        return await self._waiting.parked()

    async def rejections(self, tool: str, subjects: list[str]) -> dict[str, Rejection]:
        """Which of these subjects (`ticket:41`) a person still does not want this tool called for: one statement."""
        return await self._store.remembered(self._caller.principal.key, tool, subjects, self._clock())

    def budget(self) -> tuple[int, int]:
        """How many calls of the last minute count, and of how many."""
        return self._caller.meter.used(self._clock()), self._caller.meter.limit

    def room(self) -> int:
        """How many more calls may wait for people."""
        return max(0, self._caller.open_requests - len(self._waiting.ids()))

    async def withdraw(self, request_ids: list[str], reason: str) -> list[str]:
        """Take back own questions that nobody needs to answer any more. Returns the ids that are withdrawn."""
        now = self._clock()
        withdrawn = await self._store.withdraw(request_ids, self._caller.principal.key, reason, now)
        reached(Step.WITHDRAWN)
        self._waiting.check_soon(withdrawn, now, 1.0)  # the agent hears of it next, and may ask anew
        return withdrawn
