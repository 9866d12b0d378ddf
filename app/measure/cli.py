"""`triager measure durable`."""

import asyncio

import msgspec
import rich_click as click

from app.measure.durable import measure as measure_durable


@click.group("measure")
def measure() -> None:
    """Measure what the runtime costs on this machine."""


@measure.command("durable")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def durable(as_json: bool) -> None:
    """Turns, wakes, sleepers and a full ledger: in temporary directories, in less than a minute."""
    found = asyncio.run(measure_durable(lambda line: click.echo(line, err=True)))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    for name, value in msgspec.to_builtins(found).items():
        shown = ", ".join(f"{part} {number}" for part, number in value.items()) if isinstance(value, dict) else value
        click.echo(f"{name:<18} {shown}")


commands: list[click.Command] = [measure]
