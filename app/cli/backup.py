"""`triager backup` and `triager restore`."""

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rich_click as click

from app import migrations
from app.cli import archive, common
from app.cli.operations import ask_running
from app.domain import Refusal
from app.runtime.durable.lock import HostLock
from app.runtime.instants import to_text, utc_now
from app.services import housekeeping
from config.settings import Settings
from db.engine import SqliteDatabase

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@as_json_option
def backup(file: Path, as_json: bool) -> None:
    """Write every database into the new FILE, also while a host runs. It holds no key: keep APP_KEY elsewhere."""
    settings, file = common.settings(), file.absolute()
    lock = HostLock(settings.host_lock)
    if holder := lock.take():
        written = common.run(ask_running(settings, holder.pid, "backup", str(file)))
    else:
        try:
            written = archive.write(settings.data_dir, file, to_text(utc_now()))
        finally:
            lock.release()
    if as_json:
        common.print_json(written)
    else:
        click.echo(f"{file}: {written['bytes']} bytes, {written['instances']} instances. It holds no APP_KEY.")


@click.command("restore")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--keep", is_flag=True, help="Keep sessions, sign-in links, and requests nobody has answered.")
@click.option("--force", is_flag=True, help="Replace the installation that is there; it is moved aside.")
@as_json_option
def restore(file: Path, keep: bool, force: bool, as_json: bool) -> None:
    """Bring back what `triager backup` wrote into FILE, while no host runs.

    Nobody is signed in afterwards, and requests that nobody had answered are cancelled: the agent asks anew. An answer
    stands. APP_KEY, or APP_PREVIOUS_KEYS, must hold the key that the backup was made under.
    """
    settings = common.settings()
    lock = HostLock(settings.host_lock)
    if holder := lock.take():
        raise Refusal(f"Process {holder.pid} is serving this database. Nothing was restored. Stop it first.")
    try:
        done = _restore(settings, file, utc_now(), keep=keep, force=force)
    finally:
        lock.release()
    if as_json:
        common.print_json(done)
    else:
        _print(file, done)


def _restore(settings: Settings, file: Path, now: datetime, *, keep: bool, force: bool) -> dict[str, Any]:
    data_dir, head = settings.data_dir, migrations.head()
    there = bool(archive.installed(data_dir))
    if there and not force:
        raise Refusal(f"{data_dir} holds an installation. Nothing was restored. To move it aside, say --force.")
    with TemporaryDirectory(prefix="restore-", dir=data_dir) as folder:
        new = Path(folder)
        manifest = archive.unpack(file, new)
        if manifest.schema != head:
            fix = "Restore it with the version that made it; then, with this one: triager db upgrade"
            raise Refusal(f"{file} is at schema {manifest.schema}, not {head}. Nothing was restored. {fix}")
        changed = {} if keep else common.run(_tidy(new / archive.APP, now))
        archive.ring_all(new, to_text(now))
        old = data_dir / f"replaced-{now:%Y%m%dT%H%M%S%f}"
        archive.swap(data_dir, new, old)
    moved = {"replaced": str(old)} if there else {}
    return {"made_at": manifest.made_at, "instances": manifest.instances, **changed, **moved}


async def _tidy(path: Path, now: datetime) -> dict[str, int]:
    db = SqliteDatabase(path)
    try:
        return await db.write(housekeeping.restored, common.SHELL, now)
    finally:
        db.close()


def _print(file: Path, done: dict[str, Any]) -> None:
    click.echo(f"Restored {file}, made at {done['made_at']}: {done['instances']} instances.")
    if "cancelled" in done:
        click.echo(
            f"Ended {done['sessions']} sessions and {done['links']} links, cancelled {done['cancelled']} requests."
        )
    click.echo("People and tokens are as they were then. What was revoked since works again: triager token list")
    if "replaced" in done:
        click.echo(f"What was there is in {done['replaced']}")


commands: list[click.Command] = [backup, restore]
