"""`triager dev` and `triager serve`. `dev` sets everything up first, and lets you in with a one-use link."""

import asyncio
import base64
import os
import secrets
from dataclasses import replace
from datetime import datetime

import rich_click as click

from app import migrations
from app.cli import common, serving
from app.cli.seeding import seed
from app.domain import Refusal
from app.main import build
from app.runtime.durable.lock import HostLock
from app.runtime.instants import utc_now
from app.services import sessions, tokens, users
from config.settings import Settings, load
from db.engine import Database

LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@click.command("dev")
def dev() -> None:
    """Set everything up, serve, and print a sign-in link.

    Writes .env with a fresh APP_KEY when there is none, migrates the database, and seeds it when it is empty. HOST
    and PORT say where to listen, DATA_DIR where to keep everything.
    """
    settings = _dev_settings()
    lock = HostLock(settings.host_lock)
    if holder := lock.take():
        link = f" Sign in: {_link(settings, holder.address)}" if holder.address else ""
        raise Refusal(f"Process {holder.pid} runs here already, at {holder.address or 'no address yet'}.{link}")
    migrations.upgrade(settings.database)
    with common.database(settings) as db:
        if token := common.run(seed(db, utc_now())):
            click.echo(f"Seeded. The operator's token, shown only this once: {token}")
    _serve(settings, lock, with_link=True)


@click.command("serve")
def serve() -> None:
    """Serve an installation that is set up: APP_KEY is set, and the schema is the newest."""
    settings = common.settings()
    common.check_schema(settings)
    lock = HostLock(settings.host_lock)
    if holder := lock.take():
        raise Refusal(f"Process {holder.pid} runs here already, at {holder.address}. Nothing was started.")
    _serve(settings, lock, with_link=False)


def _serve(settings: Settings, lock: HostLock, *, with_link: bool) -> None:
    system = build(settings)
    try:
        listener, address = serving.listen(settings)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        raise Refusal(f"{where} cannot be listened on: {error.strerror}. Set PORT, or 0 for any.") from None
    lock.announce(address)
    link = f"\nSign in, once, within ten minutes: {_link(settings, address)}" if with_link else ""

    def ready() -> None:
        click.echo(f"Triager serves {address}{link}")

    try:
        asyncio.run(serving.serve(system, listener, ready))
    finally:
        system.close()
        lock.release()


def _dev_settings() -> Settings:
    settings = common.settings()
    if not settings.app_key:
        _write_env(settings)
        settings = load()
    return replace(settings, secure_cookies=settings.secure_cookies and settings.host not in LOOPBACK)


def _write_env(settings: Settings) -> None:
    settings.env_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        file = os.open(settings.env_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Refusal(f"{settings.env_file} has no APP_KEY. Add the line printed by: triager key") from None
    with os.fdopen(file, "w") as env:
        env.write(f"APP_KEY={base64.b64encode(secrets.token_bytes(32)).decode()}\n")


def _link(settings: Settings, address: str) -> str:
    """A one-use sign-in link for the first person who may operate."""
    secret = secrets.token_urlsafe(32)
    with common.database(settings) as db:
        common.run(_make_link(db, secret, utc_now()))
    return f"{address}/sign-in/link/{secret}"


async def _make_link(db: Database, secret: str, now: datetime) -> None:
    people = [one for one in await db.read(users.listing) if users.OPERATE in one.abilities and not one.disabled_at]
    if not people:
        raise Refusal("Nobody may operate here. Add somebody: triager user add NAME EMAIL")
    await db.write(sessions.make_link, tokens.hashed(secret), people[0].id, now)


commands: list[click.Command] = [dev, serve]
