"""Gate 1 of the pipeline: may this caller use this tool at all?

A scope that is kept, by a token or in config/agents.py, names one tool: `tool:tickets_close`. Whoever issues a token
may also say `tools:read` (every tool that only reads) or `tools:*` (every tool). What that means is settled there and
then, so a tool that comes later is in no token that was issued before.
"""

from collections.abc import Iterable

from app.runtime.spelling import did_you_mean
from app.runtime.tools.catalog import Tool

ONE, READ, EVERYTHING = "tool:", "tools:read", "tools:*"


def granted(scopes: tuple[str, ...], tool: str) -> bool:
    """Exact names only, whole and case-sensitive: `tool:tickets_close` grants `tickets_close` and nothing else."""
    return f"{ONE}{tool}" in scopes


def concrete(entries: Iterable[str], tools: Iterable[Tool]) -> list[str]:
    """The scopes that the entries mean, each once, in order: `tool:<name>` or a bare name, `tools:read`, `tools:*`.

    Raises ValueError naming the first entry that grants nothing: another case, a space too many, a prefix.
    """
    by_name = {tool.name: tool for tool in tools}
    meant: dict[str, None] = {}
    for entry in entries:
        meant.update(dict.fromkeys(_meant(entry, by_name)))
    return [f"{ONE}{name}" for name in meant]


def _meant(entry: str, tools: dict[str, Tool]) -> list[str]:
    name = entry.removeprefix(ONE)
    if name in tools:
        return [name]
    found = [tool.name for tool in tools.values() if entry == EVERYTHING or (entry == READ and tool.read_only)]
    if not found:
        known = [READ, EVERYTHING, *tools, *(f"{ONE}{name}" for name in tools)]
        raise ValueError(f'"{entry}" names no tool.{did_you_mean(entry, known)}')
    return found
