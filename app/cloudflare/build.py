"""Writes .cloudflare/: a Worker as `pywrangler` takes it. Checked first; a refusal leaves what is there as it was."""

import json
import shutil
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import msgspec

from app.cloudflare import findings, sql, wrangler
from app.cloudflare.fault import Fault
from app.cloudflare.findings import DEPENDENCIES, Agents
from app.cloudflare.sources import OURS, Sources

TOOLS = ("workers-py>=1.17.9", "workers-runtime-sdk>=1.9.5")
ENTRY = '''\
"""Written by `triager cloudflare build`. An object's class per agent of config/agents.py."""

import sys

sys.modules["rich"] = None  # structlog would load it, and it draws at random at import

from app.cloudflare.worker import Default, durable_object

'''
PROJECT = """\
# Written by `triager cloudflare build`, for `pywrangler`: what runs on the Worker, and what brings it there.
[project]
name = "triager-worker"
version = "0"
requires-python = ">=3.13"
dependencies = {dependencies}

[dependency-groups]
dev = {tools}
"""
HEADERS = """\
/static/*
  Cache-Control: public, max-age=31536000, immutable
  X-Content-Type-Options: nosniff
"""


class Refused(Exception):
    """The Worker would not run. Nothing was written."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(f"{fault.where}: {fault.said}" for fault in faults))
        self.faults = faults


class Size(msgspec.Struct, frozen=True):
    """In bytes, uncompressed."""

    ours: int
    others: int | None  # None before `pywrangler` has fetched them


def build(root: Path, target: Path, agents: Agents) -> Size:
    """Raises Refused. `agents` is the registry, found right."""
    files = read(root)
    if faults := list(findings.faults(files, agents)):
        raise Refused(faults)
    for part in ("src", "public", "migrations"):
        shutil.rmtree(target / part, ignore_errors=True)
    _write(target, {wrangler.CONFIG: files[wrangler.CONFIG], "pyproject.toml": _project()})
    _write(target / "migrations", dict(sql.migrations()))
    sources = Sources(files)
    modules = [sources.path(module) for module in findings.modules(sources, agents)]
    _write(target / "src", {"entry.py": _entry(agents)} | {path: files[path] for path in modules})
    templates = root / "templates"  # with the static files, which pages name by what is in them
    only_data = shutil.ignore_patterns("*.py", "__pycache__")
    shutil.copytree(templates, target / "src" / "templates", ignore=only_data, dirs_exist_ok=True)
    shutil.copytree(templates / "static", target / "public" / "static")
    _write(target / "public", {"_headers": HEADERS})
    return size(target)


def read(root: Path) -> dict[str, str]:
    """wrangler.jsonc, and our Python modules."""
    paths = [root / wrangler.CONFIG, *(path for folder in OURS for path in sorted((root / folder).rglob("*.py")))]
    return {path.relative_to(root).as_posix(): path.read_text(errors="replace") for path in paths if path.is_file()}


def size(target: Path) -> Size:
    vendored = target / "python_modules"
    return Size(_bytes(target / "src"), _bytes(vendored) if vendored.is_dir() else None)


def _entry(agents: Agents) -> str:
    classes = [f'{entry["class"]} = durable_object("{name}")\n' for name, entry in agents.items()]
    return "".join([ENTRY, *classes])


def _project() -> str:
    dependencies = [f"{name}=={version(name)}" for name in DEPENDENCIES]
    return PROJECT.format(dependencies=json.dumps(dependencies), tools=json.dumps(TOOLS))


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        written = folder / path
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(text)


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in _files(folder))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
