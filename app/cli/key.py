"""`triager key`: a fresh key, as the line that `.env` wants."""

import secrets
from base64 import b64encode

import rich_click as click


@click.command("key")
def key() -> None:
    """Print a new APP_KEY. It seals parked calls; keep the old one in APP_PREVIOUS_KEYS while some wait."""
    click.echo(f"APP_KEY={b64encode(secrets.token_bytes(32)).decode()}")


commands: list[click.Command] = [key]
