"""The audit trail: a line for every call of a tool, for every refusal, and for what became of a call that waited.

But for calls of a turn that only reads, such as a dry run: it changes no byte.
A sink takes entries one by one, and is told nothing secret: arguments and messages come redacted. One machine has files
(`app/web/audit_files.py`), a platform that keeps logs has its log.
"""

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, Protocol

import msgspec
import structlog

from app.runtime import invocation
from app.runtime.instants import Clock, to_text
from app.runtime.tools.catalog import Tool
from app.runtime.tools.redact import HIDDEN, redact, redact_text, secrets_in
from app.runtime.tools.results import Denied, Done, Failed, Pending, ToolResult, why

Surface = Literal["agent", "mcp", "cli"]
Kind = Literal["call", "preflight", "delivery"]  # a delivery carries out, or ends, a call that waited for a person
log = structlog.get_logger()


class Entry(msgspec.Struct, frozen=True):
    """`result` is done, pending, denied or failed. A delivery that makes no call is denied: a person said no, say."""

    at: str
    kind: Kind
    surface: Surface
    principal: str
    tool: str
    arguments: Any
    result: str
    status: int | None  # what the route answered
    reason: str | None  # why it was denied: scope, rate-limit, approval, halted
    message: str | None
    request_id: str | None
    ms: float
    trace_id: str | None


class Sink(Protocol):
    def write(self, entry: Entry) -> None:
        """May raise: the call it tells of has happened, and its answer is given all the same."""


class LogSink:
    """For a platform that keeps the log."""

    def write(self, entry: Entry) -> None:
        log.info("tool_call", **msgspec.to_builtins(entry))


@dataclass(frozen=True, slots=True)
class Who:
    """Who called, and through which door."""

    principal: str
    surface: Surface


class Audit:
    """Writes down what calls came to. A sink that fails fails no call: the log has the entry instead."""

    def __init__(self, sink: Sink, clock: Clock) -> None:
        self._sink, self._clock = sink, clock

    async def watch(
        self,
        who: Who,
        tool: Tool,
        arguments: dict[str, Any],
        work: Awaitable[ToolResult],
        kind: Kind = "call",
        request_id: str | None = None,
    ) -> ToolResult:
        """What `work` comes to, written down; also when it breaks off, for then nobody else may hear of it."""
        started, result = perf_counter(), None
        try:
            result = await work
            return result
        finally:
            came_to = result or Failed("It broke off. Whether it did anything, the history tells.")
            shown, ms = redact(arguments, tool.mark.redact), (perf_counter() - started) * 1000
            self.note(who, tool.name, came_to, kind, request_id, shown, secrets_in(arguments, tool.mark.redact), ms)

    def note(
        self,
        who: Who,
        tool: str,
        result: ToolResult,
        kind: Kind,
        request_id: str | None,
        arguments: Any = None,
        secrets: Iterable[str] = (),
        ms: float = 0,
    ) -> None:
        """`arguments` are redacted; `secrets` are the texts that this hid."""
        if invocation.reading():
            return
        entry = Entry(
            at=to_text(self._clock()),
            kind=kind,
            surface=who.surface,
            principal=who.principal,
            tool=tool,
            arguments=arguments,
            result=type(result).__name__.lower(),
            status=result.outcome.status if isinstance(result, Done) else None,
            reason=result.reason if isinstance(result, Denied) else None,
            message=_safe(why(result), secrets),
            request_id=result.request_id if isinstance(result, Pending) else request_id,
            ms=round(ms, 3),
            trace_id=invocation.trace_id(),
        )
        try:
            self._sink.write(entry)
        except Exception as error:
            log.exception("audit_failed", why=str(error), entry=msgspec.to_builtins(entry))


def _safe(message: str | None, secrets: Iterable[str]) -> str | None:
    """A message may quote what it refuses."""
    if message is None:
        return None
    for secret in sorted(secrets, key=len, reverse=True):
        message = message.replace(secret, HIDDEN)
    return redact_text(message)
