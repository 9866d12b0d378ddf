"""`triager sweep` and `triager tool list`: the agents, and what they can call."""

import asyncio
from typing import Any

import rich_click as click

from app.cli import common
from app.domain import Refusal
from app.main import build, look
from app.runtime.durable import control
from app.runtime.durable.lock import HostLock
from app.tracing import configure_logs
from config.settings import Settings

COUNTERS = ("open", "stale", "asked", "closed", "refused", "deferred")
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command("sweep")
@as_json_option
def sweep(as_json: bool) -> None:
    """Let the triager look at the queue now: through the running host, or, when none runs, in one turn of its own."""
    settings = common.settings()
    common.check_schema(settings)
    configure_logs()
    summary = asyncio.run(_sweep(settings))
    if as_json:
        common.print_json(summary)
    else:
        click.echo(", ".join(f"{name} {summary[name]}" for name in COUNTERS))
    if summary["error"]:
        raise Refusal(f"The sweep saw nothing: {summary['error']}")


async def _sweep(settings: Settings) -> dict[str, Any]:
    lock = HostLock(settings.host_lock)
    if holder := lock.take():
        return await _ask_the_running_host(settings, holder.pid)
    system = build(settings)
    try:
        summary: dict[str, Any] = await system.host.get("triager", "main").call("sweep")
    finally:
        system.close()
        lock.release()
    return summary


async def _ask_the_running_host(settings: Settings, pid: int) -> dict[str, Any]:
    try:
        summary: dict[str, Any] = await control.ask(control.socket_path(settings.data_dir), "sweep")
    except OSError as error:
        raise Refusal(f"Process {pid} holds the host but does not answer ({error}). Nothing was executed.") from None
    except control.ControlFailed as error:
        raise Refusal(str(error)) from None
    return summary


@click.group("tool")
def tool() -> None:
    """What an agent can call."""


@tool.command("list")
@as_json_option
def tool_list(as_json: bool) -> None:
    """List the tools: the routes marked .agent()."""
    found = [
        {
            "name": one.name,
            "method": one.method,
            "path": one.path,
            "approval": one.mark.approval,
            "description": one.mark.description,
            "input_schema": one.input_schema,
            "output_schema": one.output_schema,
        }
        for one in look().catalog
    ]
    if as_json:
        common.print_json(found)
        return
    for one in found:
        approval = "a person approves each call" if one["approval"] == "required" else "runs at once"
        click.echo(f"{one['name']:<15} {one['method']:<5} {one['path']:<28} {approval}")


commands: list[click.Command] = [sweep, tool]
