"""All that is checked before a build, and by `triager check`: wrangler.jsonc, the registry, the Worker's sources."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from app.cloudflare import jsonc, startup, wrangler
from app.cloudflare.fault import Fault
from app.cloudflare.sources import Sources
from app.runtime.registration import AUTHORIZE
from config.bindings import of_agent

REGISTRY = "config/agents.py"
WORKER = "app.cloudflare.worker"
DEPENDENCIES = {  # what the Worker brings along, at the versions of this checkout, and the packages that are in there
    "litestar": {"litestar"},
    "msgspec": {"msgspec"},
    "sqlalchemy": {"sqlalchemy"},
    "jinja2": {"jinja2", "markupsafe"},
    "structlog": {"structlog"},
    "cronsim": {"cronsim"},
    "tzdata": {"tzdata"},
}
Agents = Mapping[str, Mapping[str, Any]]  # the registry, as it stands


def faults(files: Mapping[str, str], agents: Agents) -> Iterator[Fault]:
    """`files`: wrangler.jsonc and the Python modules, by path. `agents` has been found right but for what is here."""
    classes = [str(entry["class"]) for entry in agents.values()]
    yield from _names(classes)
    try:
        config = jsonc.parse(files.get(wrangler.CONFIG, "{}"))
    except ValueError as error:
        config, why = None, f": {error}"
    else:
        why = ""
    if isinstance(config, dict):
        yield from wrangler.faults(config, classes)
    else:
        yield Fault("cloudflare-config", wrangler.CONFIG, f"It is no JSON object with comments{why}.")
    yield from _sources(Sources(files), agents)


def modules(sources: Sources, agents: Agents) -> list[str]:
    """What the Worker imports, by name. Raises SyntaxError."""
    named = [str(entry[AUTHORIZE]).split(":")[0] for entry in agents.values() if AUTHORIZE in entry]
    roots = [WORKER, *(str(entry["module"]) for entry in agents.values()), *named]
    return sources.reachable(roots, startup.LEFT_OUT)


def _names(classes: list[str]) -> Iterator[Fault]:
    for name, count in Counter(map(of_agent, classes)).items():
        if count > 1:
            said = f"{count} agents' classes would be bound as {name}. Give one of them another name."
            yield Fault("cloudflare-class", REGISTRY, said)


def _sources(sources: Sources, agents: Agents) -> Iterator[Fault]:
    try:
        for name, entry in agents.items():
            yield from _registered(sources, name, entry)
        brought = set().union(*DEPENDENCIES.values())
        yield from startup.faults(sources, modules(sources, agents), brought)
    except SyntaxError as error:
        said = f"This is no Python: {error.msg}. The Worker would not start."
        yield Fault("cloudflare-start", f"{error.filename}:{error.lineno}", said)


def _registered(sources: Sources, name: str, entry: Mapping[str, Any]) -> Iterator[Fault]:
    if not _defines(sources, str(entry["module"]), str(entry["class"]), (ast.ClassDef,)):
        said = f'"{name}": {entry["module"]} declares no class {entry["class"]}.'
        yield Fault("cloudflare-class", REGISTRY, said)
    if AUTHORIZE in entry:
        module, _, function = str(entry[AUTHORIZE]).partition(":")
        if not _defines(sources, module, function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            said = f'"{name}": {AUTHORIZE} names {entry[AUTHORIZE]}, and there is no such function.'
            yield Fault("cloudflare-authorize", REGISTRY, said)


def _defines(sources: Sources, module: str, name: str, kinds: tuple[type[ast.AST], ...]) -> bool:
    body = sources.tree(module).body if sources.holds(module) else []
    return any(isinstance(each, kinds) and getattr(each, "name", None) == name for each in body)
