"""`triager db`: move the schema of the app's database."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import rich_click as click
from alembic.util import CommandError

from app import migrations
from app.cli import common
from app.domain import NotFound, Refusal
from app.runtime.durable.lock import HostLock


@click.group("db")
def db() -> None:
    """Move the database's schema."""


@db.command()
def upgrade() -> None:
    """Bring the database to the newest schema. Makes it when there is none."""
    with _database_alone() as path:
        migrations.upgrade(path)
        click.echo(f"{path} is at schema {migrations.current(path)}.")


@db.command()
@click.argument("revision")
@click.confirmation_option(prompt="What the newer schema holds is lost. Make a backup first. Go on?")
def downgrade(revision: str) -> None:
    """Bring the database back to REVISION; `base` empties it."""
    with _database_alone() as path:
        if migrations.current(path) is None:
            raise NotFound(f"There is no database {path} to downgrade. Nothing was done.")
        try:
            migrations.downgrade(path, revision)
        except CommandError as error:
            raise NotFound(f"{error}. Nothing was done. The revisions are in db/migrations/versions.") from None
        click.echo(f"{path} is at schema {migrations.current(path) or 'base'}.")


@contextmanager
def _database_alone() -> Iterator[Path]:
    """The database's path, while no host runs on it. Raises Refusal beside one: its schema must not move under it."""
    settings = common.settings()
    lock = HostLock(settings.host_lock)
    if holder := lock.take():
        raise Refusal(f"Process {holder.pid} is serving this database. Nothing was done. Stop it first.")
    try:
        yield settings.database
    finally:
        lock.release()


@db.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def current(as_json: bool) -> None:
    """Which schema the database is at, and which is the newest."""
    path = common.settings().database
    at, head = migrations.current(path), migrations.head()
    if as_json:
        common.print_json({"database": str(path), "current": at, "head": head})
    else:
        click.echo(f"{path} is at schema {at or 'none'}; the newest is {head}.")


commands: list[click.Command] = [db]
