"""`triager seed` and `triager import`. Both write the database, also beside a running host."""

import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import rich_click as click
from msgspec import structs

from app.cli import common, seeding
from app.importer.file import read
from app.importer.keep import ForeignTicket, Imported, keep
from app.importer.row import BadRow
from app.runtime.instants import utc_now
from db import fixtures
from db.engine import Database

BATCH = 500  # tickets and comments: what one transaction keeps


@click.command("seed")
def seed() -> None:
    """Put the example tickets into a database without tickets, and an operator into one without people."""
    with common.database(common.settings()) as db:
        token = common.run(seeding.seed(db, utc_now()))
    if token:
        click.echo(token)
        click.echo(f"The token of {fixtures.NAME}, shown only this once. Paste it at /sign-in.", err=True)
    else:
        click.echo("There are people already; a token was printed when they came. Another: triager token issue")


def instant(_context: click.Context, _parameter: click.Parameter, text: str | None) -> datetime:
    """An instant as a caller writes it; without one, the clock's."""
    try:
        at = datetime.fromisoformat(text) if text else utc_now()
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if at.tzinfo is None:
        raise click.BadParameter("it names no time zone; end it with Z or an offset")
    return at


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--now", callback=instant, metavar="INSTANT", help="What counts as now, as 2026-03-09T12:00:00Z.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def import_file(file: Path, now: datetime, as_json: bool) -> None:
    """Import tickets from FILE, CSV or JSON lines: good rows are kept, bad ones reported by line, with exit 1.

    Columns: external_id, title, created_at; body, closed_at, comments (how many there were). A JSON line may also name
    requester, assignee, priority, category and labels, and list its comments. Repeat it as often as you like: what has
    not changed stays as it is, and what a person or an approval closed here stays closed.
    """
    with common.database(common.settings()) as db:
        done, bad = common.run(bring_in(db, file, now))
    if as_json:
        common.print_json({**structs.asdict(done), "bad": bad})
    else:
        for row in bad:
            click.echo(f"{file}:{row.line}: {row.problem}. The row was left out.", err=True)
        click.echo(f"{done.added} added, {done.updated} updated, {done.unchanged} unchanged, {len(bad)} bad.")
    if done == Imported() and not bad:
        click.echo(f"{file} has a header and no rows. Nothing was imported.", err=True)
    sys.exit(bool(bad))


async def bring_in(db: Database, path: Path, now: datetime) -> tuple[Imported, list[BadRow]]:
    """Keep the good rows of a file, a batch a transaction: a command that is stopped has kept the batches before."""
    done, bad = Imported(), list[BadRow]()
    with path.open("rb") as file:
        for batch in _batches(read(file, now)):
            bad += [row for row in batch if isinstance(row, BadRow)]
            good = [row for row in batch if isinstance(row, ForeignTicket)]
            done += await db.write(keep, good, by=common.SHELL, now=now)
    return done, bad


def _batches(rows: Iterator[ForeignTicket | BadRow]) -> Iterator[list[ForeignTicket | BadRow]]:
    batch: list[ForeignTicket | BadRow] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += 1 + (len(row.comments) if isinstance(row, ForeignTicket) else 0)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    yield batch


commands: list[click.Command] = [seed, import_file]
