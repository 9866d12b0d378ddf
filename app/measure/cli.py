"""`triager measure durable`, `triager measure tools`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import rich_click as click

from app.measure.durable import measure as measure_durable
from app.measure.tools import measure as measure_tools

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group("measure")
def measure() -> None:
    """Measure what the product costs on this machine, in temporary directories."""


@measure.command("durable")
@as_json_option
def durable(as_json: bool) -> None:
    """Turns, wakes, sleepers and a full ledger, in less than a minute."""
    _show(measure_durable, as_json=as_json)


@measure.command("tools")
@as_json_option
def tools(as_json: bool) -> None:
    """A tool call over its bare route, and at /mcp: milliseconds of server CPU."""
    _show(measure_tools, as_json=as_json)


def _show(work: Callable[[Callable[[str], None]], Awaitable[Any]], *, as_json: bool) -> None:
    async def run() -> Any:
        return await work(lambda line: click.echo(line, err=True))

    found = asyncio.run(run())
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        return
    for name, value in msgspec.to_builtins(found).items():
        shown = ", ".join(f"{part} {number}" for part, number in value.items()) if isinstance(value, dict) else value
        click.echo(f"{name:<18} {shown}")


commands: list[click.Command] = [measure]
