"""`triager check`."""

import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import msgspec
import rich_click as click

from app.check.claims import claim_findings
from app.check.finding import Finding
from app.check.floors import floor_findings
from app.check.product import product_findings
from app.check.readme import readme_findings
from app.check.sizes import size_findings, sizes
from app.check.tree import Tree, read, syntax_findings
from config.settings import ROOT

SOURCES = (syntax_findings, floor_findings, size_findings, readme_findings, claim_findings)


@click.command()
@click.option("--arch", is_flag=True, help="Only what the sources tell: floors, sizes, README.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(arch: bool, as_json: bool) -> None:
    """Hold the tree to its own rules: exit 1 when one is broken. Warnings break none."""
    document = report(read(ROOT), arch=arch)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    else:
        click.echo("\n".join(lines(document)))
    sys.exit(not document["ok"])


def report(tree: Tree, *, arch: bool = False) -> dict[str, Any]:
    """Everything that was found. `agents` is left out where nobody looked."""
    findings, agents = source_findings(tree), None
    if not arch and not any(each.rule == "syntax" for each in findings):
        more, agents = product_findings(tree)
        findings += more
    ok = not any(each.level == "error" for each in findings)
    shown = {} if agents is None else {"agents": agents}
    return {"ok": ok, "findings": findings, **shown, "sizes": sizes(tree)}


def source_findings(tree: Tree) -> list[Finding]:
    return [each for family in SOURCES for each in family(tree)]


def lines(document: dict[str, Any]) -> Iterator[str]:
    """For people: errors first, rule by rule."""
    findings = sorted(document["findings"], key=lambda each: (each.level, each.rule))
    for (level, rule), group in groupby(findings, lambda each: (each.level, each.rule)):
        yield f"{level}  {rule}"
        for each in group:
            yield f"    {each.where}: {each.message}" if each.where else f"    {each.message}"
    for name, agent in document.get("agents", {}).items():
        yield f"agent {name} may call: {', '.join(agent['tools']) or 'nothing'}"
    for size in document["sizes"]:
        yield f"{size.lines:5} of {size.limit} lines of code: {size.what}"
    errors = sum(each.level == "error" for each in findings)
    yield f"Errors: {errors}. Warnings: {len(findings) - errors}."


commands: list[click.Command] = [check]
