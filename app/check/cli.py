"""`triager check`."""

import sys
import traceback
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click

from app.check.finding import Finding, error
from app.check.floors import floor_findings
from app.check.readme import readme_findings
from app.check.sizes import size_findings, sizes
from app.check.tree import Tree, read, syntax_findings
from config.settings import ROOT

SOURCES = (syntax_findings, floor_findings, size_findings, readme_findings)
PRODUCT = ("app.check.registry", "app.check.policy", "app.check.tools", "app.check.reach")  # these import the product


@click.command()
@click.option("--arch", is_flag=True, help="Only what the sources tell: floors, sizes, README.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(arch: bool, as_json: bool) -> None:
    """Hold the tree to its own rules: exit 1 when one is broken. Warnings break none."""
    tree = read(ROOT)
    document = report(tree, arch=arch)
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() if as_json else _text(document))
    sys.exit(not document["ok"])


def report(tree: Tree, *, arch: bool = False) -> dict[str, Any]:
    """Everything that was found. `agents` is left out where nobody could look."""
    findings = source_findings(tree)
    agents = {}
    if not arch and not any(each.rule == "syntax" for each in findings):
        findings += product_findings(tree)
        if not any(each.rule == "app" for each in findings):
            agents = {"agents": import_module("app.check.reach").agents(tree)}
    ok = not any(each.level == "error" for each in findings)
    return {"ok": ok, "findings": findings, **agents, "sizes": sizes(tree)}


def source_findings(tree: Tree) -> list[Finding]:
    return [each for findings in SOURCES for each in findings(tree)]


def product_findings(tree: Tree) -> list[Finding]:
    """What keeps the app from starting is told once, and only where no rule tells it better."""
    found: list[Finding] = []
    broken: Finding | None = None
    for family in PRODUCT:
        try:
            found += import_module(family).findings(tree)
        except Exception as fault:  # noqa: BLE001  # whatever it is, it is a finding
            broken = broken or _does_not_start(tree, fault)
    if broken and not any(each.level == "error" for each in found):
        found.append(broken)
    return found


def _does_not_start(tree: Tree, fault: Exception) -> Finding:
    frames = [frame for frame in traceback.extract_tb(fault.__traceback__) if _is_theirs(tree.root, frame.filename)]
    where = f"{Path(frames[-1].filename).relative_to(tree.root)}:{frames[-1].lineno}" if frames else ""
    said = f"The app does not start: {type(fault).__name__}: {fault} Mend it; its routes were not looked at."
    return error("app", where, said)


def _is_theirs(root: Path, filename: str) -> bool:
    path = Path(filename)
    return path.is_relative_to(root) and path.relative_to(root).parts[:1] in {
        ("app",),
        ("config",),
        ("db",),
        ("routes",),
    }


def _text(document: dict[str, Any]) -> str:
    return "\n".join(_lines(document))


def _lines(document: dict[str, Any]) -> Iterator[str]:
    findings = sorted(document["findings"], key=lambda each: (each.level, each.rule))
    for (level, rule), group in groupby(findings, lambda each: (each.level, each.rule)):
        yield f"{level}  {rule}"
        for each in group:
            yield f"    {each.where}: {each.message}" if each.where else f"    {each.message}"
    for name, agent in document.get("agents", {}).items():
        yield f"agent {name} may call: {', '.join(agent['tools']) or 'nothing'}"
    for size in document["sizes"]:
        yield f"{size.lines:5} of {size.limit} lines of code: {size.what}"
    yield _total(findings)


def _total(findings: Iterable[Finding]) -> str:
    levels = [each.level for each in findings]
    return f"{levels.count('error')} errors, {levels.count('warning')} warnings." if levels else "No findings."


commands: list[click.Command] = [check]
