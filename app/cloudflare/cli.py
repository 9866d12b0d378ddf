"""`triager cloudflare build`, `triager cloudflare seed`."""

import json
import secrets
import sys

import rich_click as click

from app.cloudflare import sql
from app.cloudflare.build import Refused, Size, build
from app.cloudflare.fault import together
from app.cloudflare.wrangler import CONFIG
from app.domain import Refusal
from app.runtime.errors import WiringError
from app.runtime.instants import utc_now
from app.runtime.registration import read
from app.services import tokens
from config.agents import AGENTS
from config.settings import ROOT

TARGET = ROOT / ".cloudflare"
LIMIT_MIB = 64  # of one Worker, uncompressed
LIMIT_SOURCE = "developers.cloudflare.com/workers/platform/limits"


@click.group("cloudflare")
def cloudflare() -> None:
    """The product as a Worker: agents are Durable Objects, tickets stand in D1."""


@cloudflare.command("build")
def build_command() -> None:
    """Check wrangler.jsonc and the sources, then write .cloudflare/ for pywrangler."""
    try:
        read(AGENTS)
    except WiringError as error:
        raise Refusal(f"{error} Nothing was written. See: triager check") from None
    try:
        click.echo("\n".join(_told(build(ROOT, TARGET, AGENTS))))
    except Refused as refused:
        click.echo(f"{refused}\nThe Worker would not run. Nothing was written. Mend this, and build again.", err=True)
        if paste := together(refused.faults):
            click.echo(f"Into {CONFIG}, and into its lists, goes what it has not yet:", err=True)
            click.echo(json.dumps(paste, indent=2))
        sys.exit(1)


def _told(size: Size) -> list[str]:
    others = "what pywrangler fetches comes on top" if size.others is None else f"{_mib(size.others)} of others"
    return [
        f"{TARGET.name}/ is written: {_mib(size.ours)} of our own, {others}.",
        f"A Worker takes {LIMIT_MIB} MiB before compression ({LIMIT_SOURCE}); a deploy says what it comes to.",
        f"Go on: cd {TARGET.name} && uv run pywrangler dev",
    ]


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"


@cloudflare.command("seed")
def seed_command() -> None:
    """Print as SQL what a fresh database starts with; to stderr, the operator's token."""
    token = tokens.fresh(secrets.token_bytes)
    click.echo(sql.seed(token, utc_now()))
    click.echo(f"The operator's token, shown once: {token}", err=True)


commands: list[click.Command] = [cloudflare]
