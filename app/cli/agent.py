"""`triager agent`: the agents and their instances."""

from typing import Any

import rich_click as click

from app.cli import common
from app.cli.make import agent_make
from app.cli.operations import perform
from app.cli.verdicts import print_verdicts
from app.domain import printable
from app.web.tracing import configure_logs

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
instance_argument = click.argument("instance", metavar="AGENT/INSTANCE")


def ask(operation: str, argument: Any = None) -> Any:
    """Through the running host, or, when none runs, in one turn of its own."""
    settings = common.settings()
    common.check_schema(settings)
    configure_logs()
    return common.run(perform(settings, operation, argument))


@click.group("agent")
def agent() -> None:
    """Look at the agents' instances, wake one, or make a new agent."""


agent.add_command(agent_make)


@agent.command("list")
@as_json_option
def agent_list(as_json: bool) -> None:
    """List every instance, those of agents that are registered no more too, and when each wakes next."""
    found = ask("agent list")
    if as_json:
        common.print_json(found)
        return
    for one in found:
        failing = f", failed {one['failures']} times" if one["failures"] else ""
        orphan = "" if one["registered"] else ", of no registered agent"
        name = printable(f"{one['agent']}/{one['instance']}")
        wakes = _halted(one) or f"wakes {one['next_at'] or 'when called'}"
        paused = printable(f", paused: {', '.join(one['paused'])}") if one["paused"] else ""
        click.echo(f"{name}  {wakes}{paused}{failing}{orphan}")


@agent.command("show")
@instance_argument
@as_json_option
def agent_show(instance: str, as_json: bool) -> None:
    """Show what an instance reports, when its jobs run next, and which calls wait for a person."""
    found = ask("agent show", instance)
    if as_json:
        common.print_json(found)
        return
    if halted := _halted(found):
        click.echo(halted)
    for name, value in (found["report"] or {}).items():
        click.echo(printable(f"{name}: {value}"))
    for job in found["schedules"]:
        state = "set aside: there is no such method" if job["set_aside"] else f"next {job['next_at']}"
        if job["paused_at"]:
            state = f"paused by {job['paused_by'] or 'somebody'} since {job['paused_at']} ({job['note']})"
        name = f"{job['callback']} {job['key']}".strip()
        job_said = f"job {name} ({job['expression']} {job['zone']}) {state}, {job['failures']} failures"
        click.echo(printable(job_said))
    for call in found["parked"]:
        waits = f"waits {call['request_id']} {call['tool']} {call['subject']}, next look {call['next_check_at']}"
        click.echo(printable(waits))


def _halted(one: dict[str, Any]) -> str:
    brake = one["halted"]
    return printable(f"halted by {brake['by']} since {brake['at']}") if brake else ""


@agent.command("wake")
@instance_argument
@as_json_option
def agent_wake(instance: str, as_json: bool) -> None:
    """Let an instance do now what is due, and look at every call that waits."""
    woken = ask("agent wake", instance)
    if as_json:
        common.print_json(woken)
    else:
        click.echo(f"Woken. {woken['waiting']} calls wait for a person.")


@agent.command("runs")
@instance_argument
@click.option("--run", "number", type=int, help="Only this run, with its verdict on every ticket it looked at.")
@as_json_option
def agent_runs(instance: str, number: int | None, as_json: bool) -> None:
    """List the runs that an instance keeps, newest first, each with its report."""
    found = ask("agent runs", {"instance": instance, "run": number})
    if as_json:
        common.print_json(found)
        return
    for run in found:
        report = run["report"] or {}
        counters = ", ".join(f"{name} {value}" for name, value in report.items() if isinstance(value, int | str))
        click.echo(printable(f"{run['id']}  {run['started_at']}  {counters or 'under way, or broken off'}"))
        if number is not None:
            print_verdicts(run["details"] or [])


@agent.command("pause")
@instance_argument
@click.argument("callback")
@click.argument("key", default="")
@click.option("--note", required=True, callback=common.note, help="Why. Shown by: triager agent show")
@as_json_option
def agent_pause(instance: str, callback: str, key: str, note: str, as_json: bool) -> None:
    """Let a job of an instance stand until it is unpaused, over restarts and deploys too."""
    _paused({"instance": instance, "callback": callback, "key": key, "note": note}, "Paused.", as_json=as_json)


@agent.command("unpause")
@instance_argument
@click.argument("callback")
@click.argument("key", default="")
@as_json_option
def agent_unpause(instance: str, callback: str, key: str, as_json: bool) -> None:
    """Let a paused job run again: at once, if it is late, and then at its times."""
    _paused({"instance": instance, "callback": callback, "key": key, "note": None}, "Unpaused.", as_json=as_json)


def _paused(asked: dict[str, Any], said: str, *, as_json: bool) -> None:
    done = ask("agent pause", asked)
    if as_json:
        common.print_json(done)
    else:
        click.echo(said)


commands: list[click.Command] = [agent]
