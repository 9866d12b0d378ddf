"""`triager halt` and `triager resume`: the row is written first, then a running host hears of it.

So a brake needs nothing of what it stops: a host that is dead, or hangs, asks nobody and spends no answer either.
"""

import asyncio
from typing import Literal

import rich_click as click

from app.cli import common, control
from app.domain import Refusal, printable
from app.runtime.instants import utc_now
from app.runtime.tools.brakes import ALL, Brake
from app.schemas import BrakesOut
from app.services import brakes
from config.agents import AGENTS
from config.settings import Settings

FOLLOWS_WITHIN_S = 5.0
Nudge = Literal["told", "none runs", "does not answer"]
HEARD: dict[Nudge, str] = {
    "told": "The running host follows it.",
    "none runs": "No host runs here; the next one follows it from its start.",
    "does not answer": "The running host does not answer. It asks nobody and spends no answer meanwhile; "
    "the rest follows at its next look at the clock, within a minute.",
}
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command("halt")
@click.argument("agent", required=False)
@click.option("--note", callback=common.note, help="Why. Whoever meets the brake reads it.")
@as_json_option
def halt(agent: str | None, note: str | None, as_json: bool) -> None:
    """Halt AGENT, or all: no job, no call, no answer, until it is resumed. Time runs on; nothing is cancelled."""
    settings = common.settings()
    with common.database(settings) as db:
        done = common.run(db.write(brakes.halt, agent, AGENTS, by=common.SHELL, now=utc_now(), note=note))
    _tell(settings, done, "" if done.changed else "It was halted before. ", as_json=as_json)


@click.command("resume")
@click.argument("agent", required=False)
@as_json_option
def resume(agent: str | None, as_json: bool) -> None:
    """Let AGENT go on, or take back the halt of all; agents that were halted by name stay so."""
    settings = common.settings()
    with common.database(settings) as db:
        done = common.run(db.write(brakes.resume, agent, AGENTS, by=common.SHELL, now=utc_now()))
    if not done.changed:
        _still_halted(agent, done.brakes)
    _tell(settings, done, "Resumed. " if done.changed else "There was no such halt. ", as_json=as_json)


def _still_halted(agent: str | None, held: list[Brake]) -> None:
    """Whoever wanted somebody to go on, and let nobody go, is told who holds them. Raises Refusal."""
    names = [brake.agent for brake in held if brake.agent != ALL]
    if agent and len(names) < len(held):
        raise Refusal(f"{agent} was not halted by name. Nothing was resumed: all are halted. Run: triager resume")
    if names and not agent:
        still = f"{', '.join(names)} still {'is' if len(names) == 1 else 'are'}, by name"
        raise Refusal(f"All were not halted. Nothing was resumed: {still}. Run: triager resume {names[0]}")


def _tell(settings: Settings, done: BrakesOut, said: str, *, as_json: bool) -> None:
    nudge = common.run(_nudge(settings))
    if as_json:
        common.print_json({"changed": done.changed, "brakes": done.brakes, "host": nudge})
        return
    for brake in done.brakes:
        click.echo(printable(f"{brake} To let it go on: {brake.release}"))
    click.echo(f"{said}{HEARD[nudge]}")


async def _nudge(settings: Settings) -> Nudge:
    """Not longer than FOLLOWS_WITHIN_S."""
    told = control.ask(control.socket_path(settings.data_dir), "follow brakes")
    try:
        await asyncio.wait_for(told, FOLLOWS_WITHIN_S)
    except (TimeoutError, control.ControlFailed):
        return "does not answer"
    except OSError:
        return "none runs"
    return "told"


commands: list[click.Command] = [halt, resume]
