"""Which tools each agent reaches, by the scopes it is registered with."""

from collections.abc import Iterator
from typing import Any

from app.check.finding import Finding, warning
from app.check.registry import registry
from app.check.routes import catalog
from app.check.tree import Tree
from app.runtime.tools.scopes import granted


def findings(tree: Tree) -> Iterator[Finding]:
    data = registry(tree)
    tools = sorted(tool.name for tool in catalog())
    for name, entry in (data.value if data else {}).items():
        for number, scope in enumerate(_scopes(entry)):
            if data and not any(granted((scope,), tool) for tool in tools):
                said = f'"{name}": "{scope}" names no tool. There are: {", ".join(tools) or "none"}.'
                yield warning("scope-unknown", data.where(name, "scopes", number), said)


def agents(tree: Tree) -> dict[str, dict[str, list[str]]]:
    """Scopes and tools by agent."""
    data = registry(tree)
    entries = data.value if data else {}
    return {name: {"scopes": (scopes := _scopes(entry)), "tools": _reached(scopes)} for name, entry in entries.items()}


def _reached(scopes: list[str]) -> list[str]:
    return [tool.name for tool in catalog() if granted(tuple(scopes), tool.name)]


def _scopes(entry: Any) -> list[str]:
    return [scope for scope in entry.get("scopes", ()) if isinstance(scope, str)] if isinstance(entry, dict) else []
