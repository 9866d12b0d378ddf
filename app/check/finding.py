"""What a check found: which rule, how bad, where, and in words what is wrong and what to do."""

from typing import Literal

from msgspec import Struct


class Finding(Struct, frozen=True):
    """`where` is `path:line`, or only a path, or empty where nobody can know."""

    rule: str
    level: Literal["error", "warning"]
    where: str
    message: str


def error(rule: str, where: str, message: str) -> Finding:
    return Finding(rule, "error", where, message)


def warning(rule: str, where: str, message: str) -> Finding:
    return Finding(rule, "warning", where, message)
