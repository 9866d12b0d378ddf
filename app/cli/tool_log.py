"""`triager tool log`: the audit trail, from its files. It starts nothing, and needs no database."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click

from app.cli import common
from app.domain import printable
from app.runtime.instants import to_text
from app.web.audit_files import FileSink

LOOK_EVERY_S = 0.5
Entry = dict[str, Any]
as_json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document; with --tail, one a line."
)


def instant(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    try:
        return to_text(datetime.fromisoformat(text)) if text else None
    except ValueError:
        raise click.BadParameter("an instant with its time zone: 2026-11-29T17:00:00Z") from None


@click.command("log")
@click.option("--number", "-n", type=click.IntRange(min=1), default=50, help="How many, the newest. Default: 50")
@click.option("--denied", is_flag=True, help="Only what was denied.")
@click.option("--tool", "name", help="Only calls of this tool.")
@click.option("--since", callback=instant, help="Only from this instant on: 2026-11-29T17:00:00Z")
@click.option("--tail", "-f", is_flag=True, help="Go on, and print what comes, until you stop it.")
@as_json_option
def log(number: int, denied: bool, name: str | None, since: str | None, tail: bool, as_json: bool) -> None:
    """Show what tools were called: by whom, through which door, and what it came to. Oldest first."""
    folder = common.settings().data_dir / "audit"

    def is_wanted(entry: Entry) -> bool:
        fits = (not denied or entry["result"] == "denied") and name in (None, entry["tool"])
        return fits and (since is None or entry["at"] >= since)

    if not FileSink(folder).days():
        click.echo(f"No tool was called yet: there is nothing in {folder}", err=True)
    reader = _Reader(folder, since)
    newest = list(deque(filter(is_wanted, reader.read()), maxlen=number))
    if as_json and not tail:
        common.print_json(newest)
        return
    _print(newest, as_json=as_json)
    while tail:
        time.sleep(LOOK_EVERY_S)
        _print(filter(is_wanted, reader.read()), as_json=as_json)


class _Reader:
    """Reads every file's whole lines, each once. A line that is none of ours is passed over."""

    def __init__(self, folder: Path, since: str | None) -> None:
        self._folder, self._since, self._read = folder, since or "", dict[Path, int]()

    def read(self) -> Iterator[Entry]:
        for path in FileSink(self._folder).days():
            if path.stem >= self._since[:10]:
                yield from self._lines(path)

    def _lines(self, path: Path) -> Iterator[Entry]:
        with path.open("rb") as file:
            file.seek(self._read.get(path, 0))
            for line in file:
                if line.endswith(b"\n"):  # else it is being written
                    self._read[path] = self._read.get(path, 0) + len(line)
                    if entry := _entry(line):
                        yield entry


def _entry(line: bytes) -> Entry | None:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) and {"at", "tool", "result"} <= found.keys() else None


def _print(entries: Iterator[Entry] | list[Entry], *, as_json: bool) -> None:
    show: Callable[[Entry], str] = (lambda entry: msgspec.json.encode(entry).decode()) if as_json else _line
    for entry in entries:
        click.echo(show(entry))


def _line(entry: Entry) -> str:
    result = " ".join(filter(None, (entry["result"], entry.get("reason"), str(entry.get("status") or ""))))
    what = (entry["at"], entry.get("surface"), entry.get("kind"), entry.get("principal"), entry["tool"], result)
    arguments = msgspec.json.encode(entry.get("arguments")).decode()
    return printable("  ".join(str(part) for part in (*what, arguments, entry.get("message") or "")).rstrip())
