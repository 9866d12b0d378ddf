"""One entry of the registry: an agent's class, what it may call, and how often."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.runtime.errors import WiringError

NAME = re.compile(r"[A-Za-z0-9_-]+")
SCOPE = re.compile(r"tool:[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Registration:
    """`scopes` are exact: `tool:<name>`. `calls_per_minute` is a burst floor per instance, kept in memory."""

    name: str
    module: str
    class_name: str
    scopes: tuple[str, ...]
    calls_per_minute: int = 60


def read(agents: Mapping[str, Mapping[str, Any]]) -> dict[str, Registration]:
    """The registrations of `config/agents.py`. Raises WiringError naming every entry that is not right."""
    problems = [problem for name, entry in agents.items() for problem in _problems(name, entry)]
    if problems:
        raise WiringError("config/agents.py: " + " ".join(problems))
    return {
        name: Registration(
            name, entry["module"], entry["class"], tuple(entry["scopes"]), entry.get("calls_per_minute", 60)
        )
        for name, entry in agents.items()
    }


def _problems(name: str, entry: Mapping[str, Any]) -> list[str]:
    found = []
    if not NAME.fullmatch(name):
        found.append(f'"{name}": a name has letters, digits, _ and - only.')
    if not entry.get("module") or not entry.get("class"):
        found.append(f'"{name}": give it a module and a class.')
    scopes = entry.get("scopes")
    if not isinstance(scopes, list):
        found.append(f'"{name}": give it a list of scopes.')
        scopes = []
    found += [
        f'"{name}": "{scope}" is not a scope here; write tool:<name>.'
        for scope in scopes
        if not SCOPE.fullmatch(str(scope))
    ]
    calls = entry.get("calls_per_minute", 60)
    if type(calls) is not int or calls < 1:
        found.append(f'"{name}": calls_per_minute is a whole number of at least 1, not {calls!r}.')
    return found
