"""`triager user`: who may come in. It writes the database, also beside a running host."""

from collections.abc import Sequence

import rich_click as click
from msgspec import Struct, structs

from app.cli import common
from app.runtime.instants import utc_now
from app.services import users

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
    print_rows(people, as_json=as_json)


@user.command("disable")
@click.argument("email")
def user_disable(email: str) -> None:
    """Shut a person out from their next request on: sessions, links and tokens."""
    with common.database(common.settings()) as db:
        disabled = common.run(db.write(users.disable, email, utc_now()))
    click.echo(f"Disabled {disabled.name} <{disabled.email}>. Their sessions and tokens no longer work.")


def print_rows(rows: Sequence[Struct], *, as_json: bool) -> None:
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


commands: list[click.Command] = [user]
