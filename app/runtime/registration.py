"""One entry of the registry: an agent's class, what it may call, and how often."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.runtime.errors import WiringError
from app.runtime.spelling import did_you_mean

NAME = re.compile(r"[A-Za-z0-9_-]+")
LIMITS = ("calls_per_minute", "open_requests")
OPEN_REQUESTS = 50  # waiting for people at a time
SCOPE = re.compile(r"tool:[A-Za-z0-9_-]{1,64}")
FUNCTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*:[A-Za-z_]\w*")
AUTHORIZE = "routing.authorize"
KEYS = ("module", "class", "scopes", *LIMITS, AUTHORIZE)


@dataclass(frozen=True, slots=True)
class Registration:
    """`scopes` are exact: `tool:<name>`. `calls_per_minute` is a burst floor per instance, kept in memory.

    `open_requests` is how many of an instance's requests may wait for people at a time. `authorize` names a function,
    module:function, that may let a request through to an instance, where a host has such addresses.
    """

    name: str
    module: str
    class_name: str
    scopes: tuple[str, ...]
    calls_per_minute: int = 60
    open_requests: int = OPEN_REQUESTS
    authorize: str | None = None


def read(agents: Mapping[str, Mapping[str, Any]]) -> dict[str, Registration]:
    """The registrations of `config/agents.py`. Raises WiringError naming every entry that is not right."""
    problems = [problem for name, entry in agents.items() for problem in _problems(name, entry)]
    problems += _shared_classes(agents)
    if problems:
        raise WiringError("config/agents.py: " + " ".join(problems))
    return {
        name: Registration(
            name,
            entry["module"],
            entry["class"],
            tuple(entry["scopes"]),
            **{limit: entry[limit] for limit in LIMITS if limit in entry},
            authorize=entry.get(AUTHORIZE),
        )
        for name, entry in agents.items()
    }


def _shared_classes(agents: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Two agents of one class would be told apart by nothing that a reader of either sees."""
    named = (entry for entry in agents.values() if entry.get("module") and entry.get("class"))
    for path, count in Counter(f"{entry['module']}.{entry['class']}" for entry in named).items():
        if count > 1:
            yield f"{count} agents are {path}. Give each a class of its own, or use two instances of one agent."


def _problems(name: str, entry: Mapping[str, Any]) -> list[str]:
    found = []
    if not NAME.fullmatch(name):
        found.append(f'"{name}": a name has letters, digits, _ and - only.')
    found += [f'"{name}": there is no key "{key}".{did_you_mean(key, KEYS)}' for key in entry if key not in KEYS]
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
    for limit in LIMITS:
        most = entry.get(limit, 1)
        if type(most) is not int or most < 1:
            found.append(f'"{name}": {limit} is a whole number of at least 1, not {most!r}.')
    if AUTHORIZE in entry and not FUNCTION.fullmatch(str(entry[AUTHORIZE])):
        found.append(f'"{name}": {AUTHORIZE} is module:function, not {entry[AUTHORIZE]!r}.')
    return found
