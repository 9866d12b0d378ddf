"""What a command may ask of the host: in the process that runs it, or, when none runs, in one turn of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from app.cli import archive, control, tool_calls
from app.cli.common import SHELL
from app.cli.instances import Instances
from app.domain import NotFound, Refusal
from app.main import System, build
from app.product import agent_class
from app.runtime.durable.lock import HostLock
from app.runtime.durable.parts import MAIN
from app.runtime.errors import Halted, Stopping
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from app.runtime.tools.brakes import Brakes
from app.services import brakes
from config.settings import Settings
from routes.jobs import Jobs

Operation = Callable[[System, Any], Awaitable[Any]]  # a JSON value each way; refuses with a Refusal


async def perform(settings: Settings, name: str, argument: Any = None) -> Any:
    """The operation's answer as JSON values. Raises Refusal."""
    lock = HostLock(settings.host_lock)
    if holder := lock.holder() if name in LOOKS else lock.take():
        return await ask_running(settings, holder.pid, name, argument)
    try:
        system = build(settings)
        try:
            return await _refusing(OPERATIONS[name], system, argument)
        except control.ControlFailed as error:
            raise Refusal(str(error)) from None
        finally:
            system.close()
    finally:
        lock.release()


async def ask_running(settings: Settings, pid: int, name: str, argument: Any) -> Any:
    try:
        return await control.ask(control.socket_path(settings.data_dir), name, argument)
    except OSError as error:
        raise Refusal(f"Process {pid} holds the host but does not answer ({error}). Nothing was executed.") from None
    except control.ControlFailed as error:
        raise Refusal(str(error)) from None


def commands(system: System) -> dict[str, control.Command]:
    """The operations as the running host offers them on its socket."""
    return {name: partial(_refusing, operation, system) for name, operation in OPERATIONS.items()}


async def _refusing(operation: Operation, system: System, argument: Any) -> Any:
    try:
        return await operation(system, argument)
    except (Refusal, Halted, Stopping) as error:
        raise control.ControlFailed(str(error)) from None


async def _sweep(system: System, _: Any) -> Any:
    return await system.host.get("triager", MAIN).call("sweep")


async def _plan(system: System, _: Any) -> Any:
    return await system.host.get("triager", MAIN).call("plan")


async def _list(system: System, _: Any) -> Any:
    """Every instance there is, those of agents that are registered no more too."""
    known, held = _instances(system).known(), await _brakes(system)
    return [
        {
            **to_builtins(one),
            "registered": one.agent in system.agents,
            "halted": _halted(held, one.agent, one.instance),
            "paused": _instances(system).paused(one.agent, one.instance),
        }
        for one in known
    ]


async def _show(system: System, name: Any) -> Any:
    agent, instance = _known(system, name)
    instances = _instances(system)
    kind = agent_class(system.agents[agent]) if agent in system.agents else None
    report = await system.host.get(agent, instance).call("report") if kind and "report" in kind.rpc else None
    jobs = instances.schedules(agent, instance)
    return {
        "agent": agent,
        "instance": instance,
        "registered": kind is not None,
        "halted": _halted(await _brakes(system), agent, instance),
        "report": report,
        "schedules": [job | {"set_aside": not callable(getattr(kind, job["callback"], None))} for job in jobs],
        "parked": instances.parked(agent, instance),
    }


async def _wake(system: System, name: Any) -> Any:
    agent, instance = _known(system, name)
    if agent not in system.agents:
        raise NotFound(f"{name} is of no agent that config/agents.py knows. Nothing was woken.")
    await system.host.ring(agent, instance)
    return {"agent": agent, "instance": instance, "waiting": len(_instances(system).parked(agent, instance))}


async def _pause(system: System, asked: Any) -> Any:
    """`note` null takes the pause back."""
    agent, instance = _known(system, asked["instance"])
    if agent not in system.agents:
        raise NotFound(f"{asked['instance']} is of no agent that config/agents.py knows. Nothing was changed.")
    jobs = Jobs(system.db, system.host, SHELL, system.clock())
    await jobs.pause(agent, instance, asked["callback"], asked["key"], asked["note"])
    return asked


async def _follow_brakes(system: System, _: Any) -> Any:
    await system.host.follow_brakes()


async def _runs(system: System, asked: Any) -> Any:
    """Of all runs the reports, of one its verdicts too."""
    instance, number = asked["instance"], asked["run"]
    found = _instances(system).runs(*_known(system, instance), number)
    if number is not None and not found:
        raise NotFound(f"{instance} keeps no run {number}. Nothing was executed. See: triager agent runs {instance}")
    return found


async def _backup(system: System, file: Any) -> Any:
    return await asyncio.to_thread(archive.write, system.settings.data_dir, Path(file), to_text(system.clock()))


def _known(system: System, name: Any) -> tuple[str, str]:
    """AGENT/INSTANCE as both. Raises NotFound, so that a typing error makes no new instance."""
    agent, _, instance = str(name).partition("/")
    found = (agent, instance or MAIN)
    first = found[1] == MAIN and agent in system.agents  # it is there from the start, before its first turn
    if not first and found not in {(one.agent, one.instance) for one in _instances(system).known()}:
        raise NotFound(f'There is no instance "{name}". Nothing was executed. See: triager agent list')
    return found


async def _brakes(system: System) -> Brakes:
    """As the table has them: the host's mirror may be a minute old."""
    return Brakes(await system.db.read(brakes.listing))


def _halted(held: Brakes, agent: str, instance: str) -> Any:
    brake = held.halted(Principal.agent(agent, instance).key)
    return to_builtins(brake) if brake else None


def _instances(system: System) -> Instances:
    return Instances(system.settings.data_dir / "agents")


LOOKS = frozenset({"plan"})  # change nothing, not even who holds the lock
OPERATIONS: dict[str, Operation] = {
    "sweep": _sweep,
    "plan": _plan,
    "agent list": _list,
    "agent show": _show,
    "agent wake": _wake,
    "agent runs": _runs,
    "agent pause": _pause,
    "follow brakes": _follow_brakes,
    "tool call": tool_calls.call,
    "backup": _backup,
}
