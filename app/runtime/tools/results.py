"""The four answers of a tool call. A refusal is an answer; only a bug in the wiring raises."""

from dataclasses import dataclass
from typing import Any, Literal

Reason = Literal["scope", "rate-limit", "approval", "halted"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the route answered: its HTTP status, and its JSON (or text) body.

    `mismatch` says that the route ran, and its answer is not what the tool promises: an error, and no refusal.
    """

    status: int
    body: Any
    mismatch: str | None = None

    @property
    def is_error(self) -> bool:
        """The route refused."""
        return self.status >= 400  # noqa: PLR2004 (HTTP)

    @property
    def message(self) -> str:
        return str(self.body.get("detail", self.body)) if isinstance(self.body, dict) else str(self.body)


@dataclass(frozen=True, slots=True)
class Done:
    """The route answered, which is not to say that it agreed: see `outcome.is_error`."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Pending:
    """A person has been asked, now or earlier. Nothing was executed."""

    request_id: str
    tool: str
    message: str


@dataclass(frozen=True, slots=True)
class Denied:
    """A gate refused before any route was called. With reason approval, a person did, or too many requests are open.

    `until` is how long a rejection is remembered; None means always.
    """

    reason: Reason
    message: str
    rejected: bool = False
    at_limit: bool = False
    until: str | None = None

    @property
    def stops(self) -> bool:
        """Whether the caller's next call would be denied as this one was, so that it had better stop."""
        return self.at_limit or self.reason in ("rate-limit", "halted")


@dataclass(frozen=True, slots=True)
class Failed:
    """The route answered 5xx, or threw. Whether it did anything is not known; the approval row tells."""

    message: str


ToolResult = Done | Pending | Denied | Failed


def why(result: ToolResult) -> str | None:
    """The sentence that explains a result that is not a clean success; None for one that is."""
    if isinstance(result, Done):
        refused = f"{result.outcome.status}: {result.outcome.message}" if result.outcome.is_error else None
        return result.outcome.mismatch or refused
    return result.message
