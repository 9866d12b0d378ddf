"""config/agents.py: which agents exist, and what each may call. Read as source, like the modules it names."""

from collections.abc import Iterator
from typing import Any

from app.check.classes import Found, find_class, is_agent, listed, methods
from app.check.finding import Finding, error
from app.check.literals import Data, literal, literal_findings
from app.check.tree import Tree
from app.runtime.registration import AUTHORIZE, FUNCTION, KEYS, LIMITS, NAME, SCOPE
from app.runtime.spelling import did_you_mean

PATH = "config/agents.py"
HOME = "app.agents."


def findings(tree: Tree) -> Iterator[Finding]:
    yield from literal_findings(tree, PATH, "AGENTS")
    data = registry(tree)
    if data is None:
        return
    taken: dict[tuple[str, str], str] = {}
    for name, entry in data.value.items():
        if not isinstance(entry, dict):
            yield error("agents-entry", data.where(name), f'"{name}" is {entry!r}. Write {{"module": …, "class": …}}.')
            continue
        yield from _entry_findings(data, name, entry)
        yield from _class_findings(tree, data, name, entry)
        same = (str(entry.get("module")), str(entry.get("class")))
        if "class" in entry and taken.setdefault(same, name) != name:
            said = f'"{taken[same]}" and "{name}" are both {same[1]}. Give one of them a class of its own.'
            yield error("agents-class-twice", data.where(name, "class"), said)


def registry(tree: Tree) -> Data | None:
    return literal(tree, PATH, "AGENTS")


def _entry_findings(data: Data, name: Any, entry: dict[str, Any]) -> Iterator[Finding]:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield error("agents-name", data.where(name), f'"{name}": a name has letters, digits, _ and - only.')
    for key in entry:
        if key not in KEYS:
            said = f'"{name}": there is no key "{key}".{did_you_mean(key, KEYS) or " Take it out."}'
            yield error("agents-key", data.where(name, key), said)
    for key in ("module", "class"):
        if not (entry.get(key) and isinstance(entry[key], str)) and not _misspelt(key, entry):
            yield error("agents-identity", data.where(name, key), f'"{name}" has no {key}. Name it, as text.')
    for limit in LIMITS:
        most = entry.get(limit, 1)
        if type(most) is not int or most < 1:
            said = f'"{name}": {limit} is a whole number of at least 1, not {most!r}. Say how many.'
            yield error("agents-limit", data.where(name, limit), said)
    if AUTHORIZE in entry and not FUNCTION.fullmatch(str(entry[AUTHORIZE])):
        said = f'"{name}": {AUTHORIZE} is module:function, not {entry[AUTHORIZE]!r}. Name a function.'
        yield error("agents-authorize", data.where(name, AUTHORIZE), said)
    if not _misspelt("scopes", entry):
        yield from _scope_findings(data, name, entry.get("scopes"))


def _misspelt(key: str, entry: dict[str, Any]) -> bool:
    """Then that is the fault, and not that it is missing."""
    meant = {did_you_mean(each, KEYS) for each in entry if each not in KEYS}
    return key not in entry and did_you_mean(key, [key]) in meant


def _scope_findings(data: Data, name: Any, scopes: Any) -> Iterator[Finding]:
    if not isinstance(scopes, list):
        said = f'"{name}" has no list of scopes. Write "scopes": [], or what it may call.'
        yield error("agents-scopes", data.where(name, "scopes"), said)
        return
    for number, scope in enumerate(scopes):
        if not isinstance(scope, str) or not SCOPE.fullmatch(scope):
            said = f'"{name}": "{scope}" is not a scope here; write tool:<name>.'
            yield error("agents-scope", data.where(name, "scopes", number), said)


def _class_findings(tree: Tree, data: Data, name: Any, entry: dict[str, Any]) -> Iterator[Finding]:
    module, class_name = entry.get("module"), entry.get("class")
    if not module or not class_name or not isinstance(module, str) or not isinstance(class_name, str):
        return
    path = module.replace(".", "/") + ".py"
    if not module.startswith(HOME) or path not in tree.files:
        said = "stands outside app/agents/" if path in tree.files else f"is no module: there is no {path}"
        yield error("agents-module", data.where(name, "module"), f'"{name}": {module} {said}. Name a module in there.')
        return
    found = find_class(tree, path, class_name)
    if found is None:
        if tree.module(path):
            said = f'"{name}": {path} declares no class {class_name}. Declare it there, or name the one that is.'
            yield error("agents-class", data.where(name, "class"), said)
    elif not is_agent(tree, found):
        said = f"{class_name} is no Agent. Write: class {class_name}(Agent[…])"
        yield error("agents-class", f"{path}:{found[1].lineno}", said)
    else:
        yield from _rpc_findings(tree, found)


def _rpc_findings(tree: Tree, found: Found) -> Iterator[Finding]:
    path, node = found
    for name, line in listed(found, "rpc"):
        if name not in methods(tree, found):
            said = f'rpc names "{name}", and {node.name} has no such `async def`. Write it, or take the name out.'
            yield error("agents-rpc", f"{path}:{line}", said)
