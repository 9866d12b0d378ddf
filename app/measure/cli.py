"""`triager measure` and its parts. Progress and faults go to stderr, figures to stdout."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click

from app.domain import Refusal
from app.measure import compare, invocations, routes, table
from app.measure import growth as grown
from app.measure.durable import measure as measure_durable
from app.measure.machine import line, machine
from app.measure.plot import svg
from app.measure.tools import measure as measure_tools
from app.measure.workers import measure as measure_workers

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group("measure", invoke_without_command=True)
@click.option("--check", is_flag=True, help="Only count statements. Exit 1 where one exceeds its budget, or has none.")
@click.option("--only", multiple=True, metavar="NAME", help="Only what begins so, as tickets. or sweep. Repeatable.")
@click.option("--repeat", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How often each is done.")
@click.option("--explain", is_flag=True, help="Show the statements of each.")
@as_json_option
@click.pass_context
def measure(
    context: click.Context, check: bool, only: tuple[str, ...], repeat: int, explain: bool, as_json: bool
) -> None:
    """Measure what the product costs on this machine, in temporary directories.

    Alone: every route, and the story's own invocations, against their budgets of statements.
    """
    if context.invoked_subcommand is None:
        costs = asyncio.run(invocations.measure(_tell, only=only, repeat=1 if check else repeat, wire=not check))
        faults = list(routes.over(costs))
        if as_json:
            _print_json({"machine": machine(), "costs": costs, "over": faults})
        else:
            click.echo("\n".join((line(), *table.lines(costs, explain=explain))))
        for fault in faults:
            _tell(fault)
        context.exit(1 if check and faults else 0)


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


@measure.command("growth")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw the lines into this SVG file.")
@as_json_option
def growth(plot: Path | None, as_json: bool) -> None:
    """Lists, the inbox, a sweep and a wake, where a thousand to a million tickets are stored: some minutes."""
    found = asyncio.run(grown.measure(_tell))
    if plot:
        plot.write_text(svg(found))
    if as_json:
        _print_json({"machine": machine(), "growth": found})
    else:
        click.echo("\n".join((line(), *table.growth_lines(found))))


@measure.command("peers")
@as_json_option
def peers(as_json: bool) -> None:
    """Our list beside the same list on Starlette and FastAPI, and a tool call beside other ways to call."""
    found = asyncio.run(compare.measure(_tell))
    if as_json:
        _print_json({"machine": machine(), **msgspec.to_builtins(found)})
    else:
        click.echo("\n".join((line(), *table.beside_lines(found))))


@measure.command("workers")
@click.argument("log", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--token", envvar="TOKEN", required=True, help="An operator's, of that database.")
@as_json_option
def workers(log: Path, token: str, as_json: bool) -> None:
    """The story on workerd, beside `wrangler dev >LOG`: statements, and CPU as /proc has it of workerd."""
    try:
        found = measure_workers(log, token, _tell)
    except FileNotFoundError as error:
        raise Refusal(f"{error} Start one: cd .cloudflare && uv run pywrangler dev >dev.log") from None
    if as_json:
        _print_json({"machine": machine(), "workerd": found})
        return
    click.echo(line())
    for name, cost in found.items():
        turn = "" if cost.turn is None else f", its turn {cost.turn}"
        click.echo(f"{name:<24} statements {cost.request}{turn}; CPU {cost.cpu_ms} ms, wall {cost.wall_ms} ms")


def _show(work: Callable[[Callable[[str], None]], Awaitable[Any]], *, as_json: bool) -> None:
    async def run() -> Any:
        return await work(_tell)

    found = asyncio.run(run())
    if as_json:
        _print_json(found)
        return
    for name, value in msgspec.to_builtins(found).items():
        shown = ", ".join(f"{part} {number}" for part, number in value.items()) if isinstance(value, dict) else value
        click.echo(f"{name:<18} {shown}")


def _print_json(value: Any) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def _tell(words: str) -> None:
    click.echo(words, err=True)


commands: list[click.Command] = [measure]
