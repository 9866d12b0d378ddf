"""`triager user` and `triager token`: who may come in. Both write the database, also beside a running host."""

import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

import rich_click as click
from msgspec import Struct, structs

from app.cli import common
from app.main import look
from app.runtime.instants import utc_now
from app.services import tokens, users

EXPIRY = re.compile(r"([1-9]\d{0,5})([dhm])")
UNITS = {"d": "days", "h": "hours", "m": "minutes"}
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("user")
def user() -> None:
    """Add, list and disable people."""


@user.command("add")
@click.argument("name")
@click.argument("email")
@click.option("--read-only", is_flag=True, help="May look, but neither change nor answer anything.")
def user_add(name: str, email: str, read_only: bool) -> None:
    """Add a person. A token lets them in: triager token issue."""
    abilities = [] if read_only else [users.OPERATE]
    with common.database(common.settings()) as db:
        added = common.run(db.write(users.add, name, email, abilities, utc_now()))
    click.echo(f"Added {added.name} <{added.email}>. Next: triager token issue NAME --user {added.email}")


@user.command("list")
@as_json_option
def user_list(as_json: bool) -> None:
    """List everybody, disabled people too."""
    with common.database(common.settings()) as db:
        people = common.run(db.read(users.listing))
    _print(people, as_json=as_json)


@user.command("disable")
@click.argument("email")
def user_disable(email: str) -> None:
    """Shut a person out from their next request on: sessions, links and tokens."""
    with common.database(common.settings()) as db:
        disabled = common.run(db.write(users.disable, email, utc_now()))
    click.echo(f"Disabled {disabled.name} <{disabled.email}>. Their sessions and tokens no longer work.")


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
@click.option("--tools", help="Tool names, comma-separated: a token for /mcp that can call these and do nothing else.")
@click.option("--expires", callback=lifetime, help="How long it works: 30d, 12h, 15m. Without this, until revoked.")
@as_json_option
def token_issue(name: str, email: str, tools: str | None, expires: timedelta | None, as_json: bool) -> None:
    """Issue a token and print it, this once. It acts as its owner, or with --tools may only call tools."""
    scopes = [] if tools is None else tokens.scopes_from(tools, {tool.name for tool in look().catalog})
    text, now = tokens.fresh(secrets.token_bytes), utc_now()
    with common.database(common.settings()) as db:
        expires_at = now + expires if expires else None
        issued = common.run(
            db.write(tokens.issue, text, now, name=name, email=email, scopes=scopes, expires_at=expires_at)
        )
    if as_json:
        common.print_json({"token": text, **structs.asdict(issued)})
    else:
        click.echo(text)
    click.echo(f"Shown only this once. {_terms(issued.kind, expires_at)} To revoke it: {issued.id}", err=True)


@token.command("list")
@as_json_option
def token_list(as_json: bool) -> None:
    """List every token, revoked ones too; never its text."""
    with common.database(common.settings()) as db:
        issued = common.run(db.read(tokens.listing))
    _print(issued, as_json=as_json)


@token.command("revoke")
@click.argument("token_id", metavar="ID")
def token_revoke(token_id: str) -> None:
    """Make a token useless from its next request on, with the sessions it opened."""
    with common.database(common.settings()) as db:
        common.run(db.write(tokens.revoke, token_id, utc_now()))
    click.echo(f"Revoked {token_id}. Sessions opened with it have ended.")


def _terms(kind: str, expires_at: datetime | None) -> str:
    until = f"until {expires_at:%Y-%m-%d %H:%M} UTC" if expires_at else "until it is revoked"
    return f"It works {'at /mcp only, ' if kind == 'tools' else ''}{until}."


def _print(rows: Sequence[Struct], *, as_json: bool) -> None:
    """JSON, or a line per row under a heading."""
    if as_json:
        common.print_json(rows)
        return
    fields = [structs.asdict(row) for row in rows]
    cells = [list(fields[0]), *([_cell(value) for value in row.values()] for row in fields)] if fields else []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ",".join(value) or "-"
    return "-" if value is None else str(value)


commands: list[click.Command] = [user, token]
