"""Instants as text: UTC, fixed width, milliseconds (`2026-11-29T17:00:00.000Z`).

Databases and JSON hold exactly this text, so comparing it, in SQL too, is comparing time.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def to_text(at: datetime) -> str:
    """The instant as text. `at` must be aware; a naive time raises ValueError."""
    if at.tzinfo is None:
        raise ValueError(f"{at} has no time zone")
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    return datetime.fromisoformat(text)


def after(at: datetime, seconds: float) -> str:
    return to_text(at + timedelta(seconds=seconds))


def plain(value: Any) -> Any:
    """Structs, dicts and lists as plain JSON values, their datetimes as our text."""
    return _with_text(msgspec.to_builtins(value, builtin_types=(datetime,), str_keys=True))


def _with_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_text(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_text(item) for item in value]
    return to_text(value) if isinstance(value, datetime) else value
