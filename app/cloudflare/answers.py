"""What comes back from an object: an exception would lose its type between isolates, so it travels as a value."""

import json
from collections.abc import Awaitable
from typing import Any

import structlog

from app.domain import Unavailable
from app.runtime.errors import Halted, WiringError

KEPT: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (Halted, WiringError, Unavailable, ValueError, RuntimeError)
}
log = structlog.get_logger()


class ObjectFailed(Exception):
    """An object raised what callers have no word for; it stands in the object's log."""


async def given(work: Awaitable[Any]) -> str:
    """As JSON text: what it comes to, or what it raised."""
    try:
        return json.dumps({"ok": await work})
    except Exception as error:
        kind = type(error).__name__
        if kind not in KEPT:
            log.exception("object_failed")
        return json.dumps({"error": kind, "message": str(error)})


def taken(text: str) -> Any:
    """The other end. Raises what was raised there."""
    answer = json.loads(text)
    if "error" not in answer:
        return answer["ok"]
    kind, message = answer["error"], answer["message"]
    raise KEPT[kind](message) if kind in KEPT else ObjectFailed(f"{kind}: {message}")
