"""`triager check`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import rich_click as click

from app.check.finding import Finding
from app.check.floors import floor_findings
from app.check.readme import readme_findings
from app.check.sizes import Size, size_findings, sizes
from config.settings import ROOT

FOLDERS = ("app", "config", "db", "routes", "templates")


@click.command()
@click.option("--arch", is_flag=True, help="Only what the sources tell: floors, sizes, README's lists.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(arch: bool, as_json: bool) -> None:
    """Hold the tree to its own rules: exit 1 when one is broken."""
    sources = dict(_sources(ROOT))
    found = sizes(sources)
    findings = [*_arch_findings(sources), *size_findings(found), *([] if arch else _app_findings())]
    failed = any(finding.level == "fail" for finding in findings)
    if as_json:
        document = {"ok": not failed, "findings": findings, "sizes": found}
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    else:
        _print(findings, found)
    sys.exit(failed)


def _sources(root: Path) -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in {".py", ".html", ".xml", ".txt", ".jinja"}:
                yield path.relative_to(root).as_posix(), path.read_text()


def _arch_findings(sources: dict[str, str]) -> Iterator[Finding]:
    for path, source in sources.items():
        if path.endswith(".py"):
            yield from floor_findings(path, source)
    yield from readme_findings((ROOT / "README.md").read_text(), lambda path: (ROOT / path).exists())


def _app_findings() -> list[Finding]:
    from app.check.routes import findings  # noqa: PLC0415  # see EXCEPTIONS in floors.py

    return findings()


def _print(findings: list[Finding], found: list[Size]) -> None:
    for finding in findings:
        click.echo(f"{finding.level}  {finding.key}  {finding.message}")
    for size in found:
        click.echo(f"{size.lines:5} of {size.limit} lines of code: {size.what}")
    click.echo(f"{len(findings)} findings." if findings else "No findings.")


commands: list[click.Command] = [check]
