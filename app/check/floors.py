"""The floors: an import goes downwards, or stays within its own entry. Sideways and upwards are refused."""

import sys
from collections.abc import Iterator
from functools import lru_cache

from app.check.finding import Finding, error
from app.check.imports import Import, imports, module_name
from app.check.tree import Tree

FLOORS = (  # highest first; entries on one line are neighbours
    ("app.cli",),
    ("app.check", "app.measure", "app.cloudflare", "app.migrations", "app.importer"),
    ("app.main",),
    ("app.product",),
    ("routes", "app.agents", "app.mcp"),
    ("app.auth", "app.web"),
    ("app.services",),
    ("db",),
    ("app.schemas",),
    ("config",),
    ("app.runtime.durable",),
    ("app.runtime.tools",),
    ("app.runtime",),
    ("app.domain",),
)
OURS = {"app", "config", "db", "routes", "templates", "tests"}
DELETABLE = ("app.check", "app.measure", "app.cloudflare", "app.mcp")
ONLY = {  # of ours, these may import nothing else; of other people's code, agents import what is named here
    "app.runtime": ("app.runtime",),
    "app.agents": (
        "app.agents",
        "app.domain",
        "app.runtime.durable.agent",
        "app.runtime.tools.results",
        "msgspec",
    ),
}
EXCEPTIONS = {  # (module, target): the reason why a function imports it
    ("app.main", "app.mcp.endpoint.endpoint"): "app/mcp can be deleted",
    ("app.mcp.endpoint", "app.mcp.server.serving"): "the SDK takes a second to import; only who uses /mcp waits for it",
}


def floor_findings(tree: Tree) -> Iterator[Finding]:
    """The imports that break a rule, file by file."""
    for path, module in tree.modules():
        entry = _entry(module_name(path))
        if entry:
            for each in imports(path, module):
                if (module_name(path), each.target) not in EXCEPTIONS:
                    yield from _broken(f"{path}:{each.line}", entry, each)
        elif module.body:
            yield error(
                "floor-unknown", path, "It stands on no floor. Move it, or add it to FLOORS in app/check/floors.py."
            )


def _broken(where: str, entry: str, found: Import) -> Iterator[Finding]:
    target = found.target
    if found.in_function:
        yield error("floor-function", where, f"{target} is imported inside a function. Import it at the top.")
    if not _allowed(entry, target):
        yield error("floor-only", where, f"{entry} may not import {target}, only {', '.join(_only(entry))}.")
    elif target.partition(".")[0] in OURS and (problem := _direction(entry, target)):
        yield error("floor", where, f"{entry} may not import {target}: {problem}")


def _direction(entry: str, target: str) -> str | None:
    to = _entry(target)
    if to is None:
        return "it stands on no floor. Add it to FLOORS in app/check/floors.py, or move it."
    if to == entry:
        return None
    if to in DELETABLE:
        return "that folder can be deleted. Let it register itself instead."
    if _height(to) > _height(entry):
        return "it stands higher. Move what both need down, or take it as an argument."
    return "they are neighbours. Move what both need down." if _height(to) == _height(entry) else None


def _allowed(entry: str, target: str) -> bool:
    only = _only(entry)
    top = target.partition(".")[0]
    if not only or top in sys.stdlib_module_names or (entry != "app.agents" and top not in OURS):
        return True
    return any(_within(target, prefix) for prefix in only)


def _only(entry: str) -> tuple[str, ...]:
    return next((allowed for prefix, allowed in ONLY.items() if _within(entry, prefix)), ())


@lru_cache(maxsize=10_000)
def _entry(module: str) -> str | None:
    """The longest entry of FLOORS that holds the module."""
    return max((e for floor in FLOORS for e in floor if _within(module, e)), key=len, default=None)


def _height(entry: str) -> int:
    return next(-number for number, floor in enumerate(FLOORS) if entry in floor)


def _within(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(f"{prefix}.")
