"""`triager key`: a fresh key, as the line that `.env` wants; and the way from an old key to a new one."""

import os
import secrets
from base64 import b64encode
from typing import Any

import rich_click as click

from app.cli import common
from app.cli.instances import Instances
from app.domain import Refusal
from app.runtime.durable.cipher import AppKeyCipher
from app.runtime.durable.lock import HostLock
from config.settings import SettingMissing, Settings


@click.group("key", invoke_without_command=True)
@click.pass_context
def key(context: click.Context) -> None:
    """Print a new APP_KEY. It seals the calls that wait.

    To change it, put the new one first, the old one into APP_PREVIOUS_KEYS, and run `triager key rotate`; after that
    the old one may go.
    """
    if context.invoked_subcommand is None:
        click.echo(f"APP_KEY={b64encode(secrets.token_bytes(32)).decode()}")


@key.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def rotate(context: click.Context, as_json: bool) -> None:
    """Seal every waiting call anew under APP_KEY, while no host runs. Repeat it as often as you like.

    Exit 1 when a call could not be read; it stays as it is.
    """
    settings = common.settings()
    if not settings.app_key:
        raise SettingMissing("APP_KEY is not set. Nothing was sealed. Add the line printed by: triager key")
    lock = HostLock(settings.host_lock)
    if holder := lock.take():
        raise Refusal(f"Process {holder.pid} runs the agents here. Nothing was sealed. Stop it first.")
    try:
        done = common.run(_rotate(settings))
    finally:
        lock.release()
    if as_json:
        common.print_json(done)
    else:
        click.echo(f"{done['resealed']} waiting calls sealed anew, {done['current']} were under this key already.")
        for name, requests in done["unreadable"].items():
            click.echo(f"{name}: no key opens {', '.join(requests)}. Left as it is.", err=True)
    context.exit(bool(done["unreadable"]))


async def _rotate(settings: Settings) -> dict[str, Any]:
    instances = Instances(settings.data_dir / "agents")
    cipher = AppKeyCipher([settings.app_key, *settings.previous_keys], "ledger", os.urandom)
    resealed, current = 0, 0
    unreadable = {name: ["every row"] for name in instances.strays()}
    for one in instances.known():
        done = await instances.reseal(one.agent, one.instance, cipher)
        resealed, current = resealed + done.resealed, current + done.current
        if done.unreadable:
            unreadable[f"{one.agent}/{one.instance}"] = list(done.unreadable)
    return {"resealed": resealed, "current": current, "unreadable": unreadable}


commands: list[click.Command] = [key]
