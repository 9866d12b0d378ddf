"""Two tools that no route declares: how a request stands, and what would become of a call. And what a call that waits
is told. They are for callers without a ledger, at /mcp and at the shell.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins

from app.runtime.tools.approvals import Approval
from app.runtime.tools.catalog import Tool
from app.runtime.tools.results import Denied, Done, Failed, Outcome, Pending, ToolResult

Instant = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
SHOWN = {"spent": "approved", "lapsed": "expired"}  # what people read; the end itself may not be written yet
NEXT = {
    "pending": "Nobody has answered yet. Nothing was executed.",
    "approved": "A person said yes. Repeat the very same call: that carries it out.",
    "used": "The call was carried out.",
    "rejected": "A person said no. Nothing was executed. Do not repeat the call.",
    "expired": "Its time is over. Nothing was executed. You may ask again.",
    "cancelled": "It was taken back, for the reason that is given. Nothing was executed.",
    "unknown": "The call was begun, and may have been carried out. A person must look.",
}


class ApprovalStatus(Struct, forbid_unknown_fields=True):
    """What approval_status is asked."""

    request_id: Annotated[str, Meta(max_length=64, description="As the answer that was pending named it.")]


class Preflight(Struct, forbid_unknown_fields=True):
    """What preflight is asked."""

    tool: Annotated[str, Meta(max_length=64, description="The tool that you would call.")]
    arguments: Annotated[dict[str, Any], Meta(description="What you would give it.")] = {}


class Told(Struct):
    """What a gated call is told that does not run now: people were asked, or it has run before."""

    status: Literal["pending", "used"]
    request_id: str
    message: str
    poll_with: Literal["approval_status"] = "approval_status"


class Standing(Struct):
    """How a request stands. `due_at` is when the answer, or the use of a yes, is due; `until` how long a no holds."""

    request_id: str
    status: Literal["pending", "approved", "used", "rejected", "expired", "cancelled", "unknown"]
    message: str
    asked_at: Instant
    due_at: Instant
    decided_at: Instant | None
    reason: str | None
    until: Instant | None


class Verdict(Struct):
    """What would become of a call. `status` is the route's, null where a gate refused; `preview` what would change."""

    tool: str
    allowed: bool
    needs_approval: bool
    status: int | None
    message: str
    preview: Any = None


def told(pending: Pending) -> dict[str, Any]:
    message = f"{pending.message} Repeat the very same call once it is approved: that carries it out."
    return _json(Told("pending", pending.request_id, message))


def told_used(request_id: str) -> Done:
    message = "This very call was carried out under that request. Nothing more was executed."
    return Done(Outcome(200, _json(Told("used", request_id, message))))


def standing(request_id: str, found: Approval | None) -> Done:
    """One's own request; somebody else's, and one that never was, are the same."""
    if found is None:
        return Done(Outcome(404, {"status": 404, "detail": f"You have no request {request_id}."}))
    status: Any = SHOWN.get(found.status, found.status)
    said = (found.asked_at, found.deadline, found.decided_at, found.reason, found.until)
    return Done(Outcome(200, _json(Standing(request_id, status, NEXT[status], *said))))


def verdict(tool: Tool, result: ToolResult) -> Verdict:
    """What `Pipeline.preflight` came to, as an answer: a refusal is one too."""
    match result:
        case Done(outcome) if outcome.is_error:
            return Verdict(tool.name, False, tool.gated, outcome.status, outcome.message)
        case Done(outcome):
            message = "A person would be asked first." if tool.gated else "It would run."
            return Verdict(tool.name, True, tool.gated, outcome.status, message, outcome.body if tool.gated else None)
        case Denied(message=message) | Failed(message=message) | Pending(message=message):
            return Verdict(tool.name, False, tool.gated, None, message)


def _json(answer: Struct) -> dict[str, Any]:
    body: dict[str, Any] = to_builtins(answer)
    return body
