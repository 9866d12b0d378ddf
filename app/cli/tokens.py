"""`triager token`: what lets programs in. It writes the database, also beside a running host."""

import re
import secrets
from datetime import datetime, timedelta

import rich_click as click
from msgspec import structs

from app.cli import common
from app.cli.people import as_json_option, print_rows
from app.domain import Refusal
from app.main import look
from app.runtime.instants import utc_now
from app.runtime.tools.catalog import Catalog
from app.runtime.tools.scopes import EVERYTHING, concrete, granted
from app.services import tokens

EXPIRY = re.compile(r"([1-9]\d{0,5})([dhm])")
UNITS = {"d": "days", "h": "hours", "m": "minutes"}
NEVER = "It never expires. A token with an end: --expires 90d"
BOTH = "It reads and changes things: what it reads may talk a model into a change. Two tokens keep these apart."


@click.group("token")
def token() -> None:
    """Issue, list and revoke tokens."""


def lifetime(_context: click.Context, _parameter: click.Parameter, text: str | None) -> timedelta | None:
    match = EXPIRY.fullmatch(text or "")
    if text is not None and not match:
        raise click.BadParameter("a number of days, hours or minutes: 30d, 12h, 15m")
    return timedelta(**{UNITS[match[2]]: int(match[1])}) if match else None


@token.command("issue")
@click.argument("name")
@click.option("--user", "email", required=True, help="Its owner's e-mail address.")
@click.option(
    "--tools",
    help="A token for /mcp that can call these and do nothing else: names, comma-separated; tools:read for every tool"
    " that only reads; tools:* for every tool. A tool that comes later is not among them.",
)
@click.option("--yes", is_flag=True, help="Every tool is meant: tools:* wants this.")
@click.option("--expires", callback=lifetime, help="How long it works: 30d, 12h, 15m. Without this, until revoked.")
@as_json_option
def token_issue(name: str, email: str, tools: str | None, yes: bool, expires: timedelta | None, as_json: bool) -> None:
    """Issue a token and print it, this once. It acts as its owner, or with --tools may only call tools."""
    catalog = look().catalog
    scopes = [] if tools is None else _scopes(tools, catalog, yes=yes)
    text, now = tokens.fresh(secrets.token_bytes), utc_now()
    expires_at = now + expires if expires else None
    with common.database(common.settings()) as db:
        issued = common.run(
            db.write(tokens.issue, text, now, name=name, email=email, scopes=scopes, expires_at=expires_at)
        )
    warnings = [warning for warning, holds in ((NEVER, not expires), (BOTH, _is_both(scopes, catalog))) if holds]
    if as_json:
        common.print_json({"token": text, **structs.asdict(issued), "warnings": warnings})
    else:
        click.echo(text)
    click.echo(f"Shown only this once. {_terms(issued.kind, expires_at)} To revoke it: {issued.id}", err=True)
    for warning in warnings:
        click.echo(f"Warning: {warning}", err=True)


@token.command("list")
@as_json_option
def token_list(as_json: bool) -> None:
    """List every token, revoked ones too; never its text."""
    with common.database(common.settings()) as db:
        issued = common.run(db.read(tokens.listing))
    print_rows(issued, as_json=as_json)


@token.command("revoke")
@click.argument("token_id", metavar="ID")
def token_revoke(token_id: str) -> None:
    """Make a token useless from its next request on, with the sessions it opened."""
    with common.database(common.settings()) as db:
        common.run(db.write(tokens.revoke, token_id, utc_now()))
    click.echo(f"Revoked {token_id}. Sessions opened with it have ended.")


def _scopes(text: str, catalog: Catalog, *, yes: bool) -> list[str]:
    entries = text.split(",")
    if EVERYTHING in entries and not yes:
        raise Refusal(f'"{EVERYTHING}" is every tool, also those that change things. No token was issued. Add: --yes')
    try:
        return concrete(entries, catalog)
    except ValueError as error:
        raise Refusal(f"{error} No token was issued. See: triager tool list") from None


def _is_both(scopes: list[str], catalog: Catalog) -> bool:
    return {tool.read_only for tool in catalog if granted(tuple(scopes), tool.name)} == {True, False}


def _terms(kind: str, expires_at: datetime | None) -> str:
    until = f"until {expires_at:%Y-%m-%d %H:%M} UTC" if expires_at else "until it is revoked"
    return f"It works {'at /mcp only, ' if kind == 'tools' else ''}{until}."


commands: list[click.Command] = [token]
