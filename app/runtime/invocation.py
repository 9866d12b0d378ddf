"""One invocation: a request, or one turn of an agent. It has a trace id and may run a limited number of statements.

A nested in-process call belongs to the invocation that made it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from app.runtime.errors import StatementLimitExceeded

STATEMENT_LIMIT = 50  # what Cloudflare's D1 allows one invocation on the free plan
TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(slots=True)
class Invocation:
    trace_id: str
    reading: bool = False  # it changes nothing, so the audit trail does not grow by it either
    statements: int = 0

    def spend(self) -> None:
        if self.statements >= STATEMENT_LIMIT:
            raise StatementLimitExceeded(STATEMENT_LIMIT)
        self.statements += 1

    @property
    def left(self) -> int:
        return STATEMENT_LIMIT - self.statements


_current: ContextVar[Invocation | None] = ContextVar("invocation", default=None)


def current() -> Invocation | None:
    return _current.get()


def trace_id() -> str | None:
    invocation = _current.get()
    return invocation.trace_id if invocation else None


def reading() -> bool:
    invocation = _current.get()
    return invocation is not None and invocation.reading


@contextmanager
def begin(trace: str, *, reading: bool = False) -> Iterator[Invocation]:
    """A fresh invocation for the block; the outer one, if any, is untouched by what the block spends."""
    invocation = Invocation(trace, reading)
    token = _current.set(invocation)
    try:
        yield invocation
    finally:
        _current.reset(token)


def trace_from(traceparent: str) -> str | None:
    """The trace id of a W3C traceparent header, or None when it is not one."""
    match = TRACEPARENT.fullmatch(traceparent)
    return match.group(1) if match and match.group(1) != "0" * 32 else None
