"""What a check found. The message says where, what is wrong, and what to do."""

from typing import Literal

from msgspec import Struct


class Finding(Struct, frozen=True):
    level: Literal["fail", "warn"]
    key: str
    message: str


def fail(key: str, message: str) -> Finding:
    return Finding("fail", key, message)


def warn(key: str, message: str) -> Finding:
    return Finding("warn", key, message)
