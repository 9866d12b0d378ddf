"""wrangler.jsonc, read and held to what `wrangler --dry-run` does not notice. Never rewritten.

A named environment inherits migrations, exports, flags and assets, but no bindings: each is held to the same.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.cloudflare.fault import Fault
from config.bindings import DATABASE, of_agent

CONFIG = "wrangler.jsonc"
MAIN = "src/entry.py"
FLAG = "python_workers"
EARLIEST = "2026-09-08"  # the first day whose interpreter is Python 3.14
TEMPLATES = "templates/**"
RULE = {"type": "Data", "globs": [TEMPLATES], "fallthrough": True}
ASSETS = {"directory": "public"}
HOURLY = "0 * * * *"  # when the Worker does what a host does at its start, and the housekeeping
BASICS = {"name": "triager", "main": MAIN, "compatibility_date": EARLIEST}
Config = Mapping[str, Any]


def faults(config: Config, classes: Sequence[str]) -> Iterator[Fault]:
    """`classes` are those of the registered agents."""
    for name in (None, *_dict(config.get("env"))):
        own = _dict(config["env"])[name] if name else config
        inherited = {key: config[key] for key in config if key not in {"env", "durable_objects", "d1_databases"}}
        for fault in _environment({**inherited, **_dict(own)}, classes):
            yield fault if name is None else _within(name, fault)


def _within(name: str, fault: Fault) -> Fault:
    said = f'In environment "{name}": {fault.said}'
    return fault._replace(said=said, paste={"env": {name: fault.paste}} if fault.paste else {})


def _environment(config: Config, classes: Sequence[str]) -> Iterator[Fault]:
    yield from _basics(config)
    yield from _database(config)
    yield from _strangers(config, classes)
    storage = _storage(config)
    for class_name in classes:
        yield from _class(config, class_name, storage.get(class_name))
    for class_name in sorted(set(storage) - set(classes)):
        said = f"{class_name} has storage, and no registered agent has that class. Name it in deleted_classes, if so."
        yield Fault("cloudflare-class", CONFIG, said)


def _basics(config: Config) -> Iterator[Fault]:
    for key, value in BASICS.items():
        if not isinstance(config.get(key), str):
            yield Fault("cloudflare-config", CONFIG, f'It has no "{key}".', {key: value})
    if str(config.get("main", MAIN)) != MAIN:
        yield Fault("cloudflare-config", CONFIG, f"main is {config['main']}; the build writes {MAIN}.", {"main": MAIN})
    if str(config.get("compatibility_date", EARLIEST)) < EARLIEST:
        said = f"compatibility_date is before {EARLIEST}: an older Python would run there."
        yield Fault("cloudflare-config", CONFIG, said, {"compatibility_date": EARLIEST})
    if FLAG not in _list(config.get("compatibility_flags")):
        said = f"The flag {FLAG} is missing: Python does not run without it."
        yield Fault("cloudflare-flag", CONFIG, said, {"compatibility_flags": [FLAG]})
    if not any(TEMPLATES in _list(rule.get("globs")) for rule in _dicts(config.get("rules"))):
        yield Fault("cloudflare-files", CONFIG, "The pages' templates are not uploaded.", {"rules": [RULE]})
    if _dict(config.get("assets")).get("directory") != ASSETS["directory"]:
        yield Fault("cloudflare-files", CONFIG, "The static files are not uploaded.", {"assets": ASSETS})
    if HOURLY not in _list(_dict(config.get("triggers")).get("crons")):
        said = "Nothing wakes the Worker each hour: agents would not begin, nor lost wakes be found."
        yield Fault("cloudflare-trigger", CONFIG, said, {"triggers": {"crons": [HOURLY]}})


def _database(config: Config) -> Iterator[Fault]:
    if not any(each.get("binding") == DATABASE for each in _dicts(config.get("d1_databases"))):
        missing = {"binding": DATABASE, "database_name": "triager", "database_id": "", "migrations_dir": "migrations"}
        said = f"No D1 database is bound as {DATABASE}. `wrangler d1 create triager` says its id."
        yield Fault("cloudflare-database", CONFIG, said, {"d1_databases": [missing]})


def _strangers(config: Config, classes: Sequence[str]) -> Iterator[Fault]:
    for each in _bound(config):
        if each.get("class_name") not in classes:
            said = f"{each.get('name')} binds the class {each.get('class_name')}, which no registered agent has."
            yield Fault("cloudflare-class", CONFIG, f"{said} Take it out, or register the agent in config/agents.py.")


def _class(config: Config, class_name: str, storage: str | None) -> Iterator[Fault]:
    binding = {"name": of_agent(class_name), "class_name": class_name}
    if not any(binding.items() <= each.items() for each in _bound(config)):
        said = f"Its objects of the class {class_name} are not bound as {binding['name']}."
        yield Fault("cloudflare-binding", CONFIG, said, {"durable_objects": {"bindings": [binding]}})
    if storage == "sqlite":
        return
    if storage:
        said = f"{class_name} is stored as {storage}, and it needs SQLite. That cannot be changed: rename the class."
        yield Fault("cloudflare-storage", CONFIG, said)
    elif _exports(config):
        entry = {"type": "durable-object", "storage": "sqlite"}
        said = f"exports has no SQLite-backed entry for the class {class_name}."
        yield Fault("cloudflare-storage", CONFIG, said, {"exports": {class_name: entry}})
    else:
        step = {"tag": _next_tag(config), "new_sqlite_classes": [class_name]}
        said = f"After all migrations there is no SQLite-backed class {class_name}."
        yield Fault("cloudflare-storage", CONFIG, said, {"migrations": [step]})


def _storage(config: Config) -> dict[str, str]:
    """How each class is stored in the end: sqlite or legacy-kv, from `exports` or from all migrations in order."""
    if exports := _exports(config):
        live = {name: each for name, each in exports.items() if each.get("state") != "deleted"}
        return {name: str(each["storage"]) for name, each in live.items() if each.get("storage")}
    stored: dict[str, str] = {}
    for step in _dicts(config.get("migrations")):
        stored |= dict.fromkeys(map(str, _list(step.get("new_classes"))), "legacy-kv")
        stored |= dict.fromkeys(map(str, _list(step.get("new_sqlite_classes"))), "sqlite")
        for each in _dicts(step.get("renamed_classes")):
            if before := stored.pop(str(each.get("from")), None):
                stored[str(each.get("to"))] = before
        for each in _dicts(step.get("transferred_classes")):
            stored[str(each.get("to"))] = "sqlite"  # as the other Worker had it, which nobody can see from here
        for name in _list(step.get("deleted_classes")):
            stored.pop(str(name), None)
    return stored


def _exports(config: Config) -> dict[str, Mapping[str, Any]]:
    """The Durable Objects among `exports`; where there are any, `migrations` are not read."""
    listed = {name: _dict(each) for name, each in _dict(config.get("exports")).items()}
    return {name: each for name, each in listed.items() if each.get("type") == "durable-object"}


def _next_tag(config: Config) -> str:
    numbers = [re.findall(r"\d+", str(step.get("tag"))) for step in _dicts(config.get("migrations"))]
    return f"v{max((int(found[-1]) for found in numbers if found), default=0) + 1}"


def _bound(config: Config) -> list[Mapping[str, Any]]:
    """The bindings of classes of this Worker; `script_name` means another's."""
    found = _dicts(_dict(config.get("durable_objects")).get("bindings"))
    return [each for each in found if not each.get("script_name")]


# What has another shape than wrangler's is left to wrangler, which says so.


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in _list(value) if isinstance(each, Mapping)]
