"""One life of a process under test: forked from this one, on real files, under a held clock, until SIGKILL or its end.

The product is built once, before any fork, so a life begins in milliseconds; each still starts from nothing but disk.
"""

import asyncio
import gc
import os
import signal
import sqlite3
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import httpx

from app.domain import Conflict
from app.main import build
from app.runtime.errors import Halted
from app.runtime.steps import Step, on_reached
from config.settings import Settings
from tests.support import NOW
from tests.world import KEY, TOKEN, Clock, World

Act = str  # a verb and perhaps a number: "sweep", "approve 0", "wait 31"
Deadly = Callable[[int, Step], bool]  # does the process die at its n-th step, counted from 1?


@dataclass
class Life:
    """What a process did before it ended, as it reported while it ran."""

    steps: list[str] = field(default_factory=list)
    trail: list[str] = field(default_factory=list)  # steps, "write" for each commit, "act" for each act that was done
    done: int = 0  # acts
    now: datetime = NOW  # its clock in the end
    killed: bool = False


class Installation:
    """A folder, and the product that will serve it in processes to come."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock, self._ids = folder, Clock(NOW), iter(())
        settings = Settings(data_dir=folder, app_key=KEY)
        self.system = build(settings, clock=self.clock, new_id=lambda: next(self._ids))
        self._lives = 0

    def warm_up(self, acts: tuple[Act, ...]) -> None:
        """Live once in this process, so that what is compiled at its first use is compiled before any fork."""
        fresh = dict(vars(self.system.host))
        self._ids = (f"warm-{number}" for number in range(10_000))
        asyncio.run(self._live(acts, lambda _: None, lambda: None))
        self.system.close()
        vars(self.system.host).update(fresh)

    def live(self, now: datetime, acts: tuple[Act, ...], deadly: Deadly | None = None, *, traced: bool = False) -> Life:
        """Start, do the acts, end. Raises AssertionError when anything but SIGKILL ended it early."""
        self._lives += 1
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._child(writer, now, acts, deadly, traced)
        os.close(writer)
        with os.fdopen(reader) as report:
            life = _read(report.read().splitlines(), now)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert code in (0, -signal.SIGKILL), (self.folder / "log").read_text()[-8_000:]
        life.killed = code != 0
        return life

    def _child(
        self, writer: int, now: datetime, acts: tuple[Act, ...], deadly: Deadly | None, traced: bool
    ) -> NoReturn:
        try:
            gc.disable()  # a collection would touch, and so copy, every page of the parent
            log = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
            self.clock.at = now
            self._ids = (f"{self._lives:04}-{number:04}" for number in range(10_000))
            say = partial(_say, writer)
            look = _watch_writes(say) if traced else lambda: None
            count = iter(range(1, 10_000))

            def at_step(step: Step) -> None:
                look()
                say(f"step {step}")
                if deadly and deadly(next(count), step):
                    os.kill(os.getpid(), signal.SIGKILL)

            on_reached(at_step)
            asyncio.run(self._live(acts, say, look))
            sys.stdout.flush()
            os._exit(0)  # without closing a file, so that even this end may lose nothing
        except BaseException:  # noqa: BLE001 (the child may not return into the test)
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)

    async def _live(self, acts: tuple[Act, ...], say: Callable[[str], None], look: Callable[[], None]) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        transport = httpx.ASGITransport(self.system.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            world = World(self.system, self.clock, client)
            await self.system.host.start()
            await world.run_due()
            for act in acts:
                verb, *numbers = act.split()
                if verb == "wait":
                    self.clock.advance(seconds=int(numbers[0]))
                    say(f"now {self.clock.at.isoformat()}")
                await VERBS[verb](world, *map(int, numbers))
                await self.system.host.drain()
                look()
                say("act")


def _say(writer: int, line: str) -> None:
    os.write(writer, f"{line}\n".encode())  # in the pipe at once: it outlives a SIGKILL


def _read(lines: list[str], now: datetime) -> Life:
    life = Life(now=now)
    for line in lines:
        what, _, rest = line.partition(" ")
        life.trail.append(rest if what == "step" else what)
        if what == "step":
            life.steps.append(rest)
        elif what == "act":
            life.done += 1
        elif what == "now":
            life.now = datetime.fromisoformat(rest)
    return life


def _watch_writes(say: Callable[[str], None]) -> Callable[[], None]:
    """Say "write" for each commit that changed a row in any database. Returns what looks for the last one."""
    connect, seen = sqlite3.connect, dict[sqlite3.Connection, int]()

    def look(_statement: str = "") -> None:
        for connection, changes in list(seen.items()):
            try:
                now = changes if connection.in_transaction else connection.total_changes
            except sqlite3.ProgrammingError:  # closed
                continue
            if now > changes:
                seen[connection] = now
                say("write")

    def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        seen[connection] = 0
        connection.set_trace_callback(look)
        return connection

    sqlite3.connect = sqlite3.dbapi2.connect = watched  # type: ignore[attr-defined]
    return look


# What people and time do. Numbers choose among the requests that are pending, or name a ticket.


async def _sweep(world: World) -> None:
    await _post(world, "/ops/agents/triager/sweep")


async def _sweep_eu(world: World) -> None:
    with suppress(Halted):
        await world.system.host.get("triager", "eu").call("sweep")


async def _sweep_beside_an_edit(world: World) -> None:
    """The first ticket is edited just before its question is put."""
    path, edits = world.system.settings.database, iter((1,))

    def edit(step: Step) -> None:
        if step is Step.INTENDED and next(edits, None):
            with sqlite3.connect(path) as person:
                person.execute("UPDATE tickets SET version = version + 1 WHERE id = 1")
                person.execute(
                    "INSERT INTO events (subject, kind, actor, data, at) VALUES ('ticket:1','edited','','{}','')"
                )
            person.close()

    on_reached(edit)
    await _sweep(world)


async def _approve(world: World, which: int) -> None:
    await _answer(world, which, "approve")


async def _reject(world: World, which: int) -> None:
    await _answer(world, which, "reject")


async def _both(world: World, which: int) -> None:
    """Two people at once."""
    await asyncio.gather(_answer(world, which, "approve"), _answer(world, which, "reject"))


async def _approve_unheard(world: World, which: int) -> None:
    await _unheard(world, which, world.approve)


async def _reject_unheard(world: World, which: int) -> None:
    await _unheard(world, which, world.reject)


async def _edit(world: World, ticket: int) -> None:
    version = (await world.ticket(ticket)).version
    (await world.client.patch(f"/tickets/{ticket}", json={"title": f"Words {version}"})).raise_for_status()


async def _reopen(world: World, ticket: int) -> None:
    await _post(world, f"/tickets/{ticket}/reopen", {})


async def _halt(world: World) -> None:
    await _post(world, "/ops/agents/halt", {})


async def _resume(world: World) -> None:
    await _post(world, "/ops/agents/resume", {})


async def _wait(world: World, _seconds: int) -> None:
    await world.run_due()


async def _answer(world: World, which: int, answer: str) -> None:
    if pending := await world.pending():
        await _post(world, f"/approvals/{pending[which % len(pending)]}/{answer}", {})


async def _unheard(world: World, which: int, answer: Callable[..., Awaitable[None]]) -> None:
    """The wake is lost: only the alarm finds the answer."""
    if pending := await world.pending():
        with suppress(Conflict):  # halted
            await answer(pending[which % len(pending)], wake=False)


async def _post(world: World, path: str, body: Any = None) -> None:
    response = await world.client.post(path, json=body)
    assert response.status_code in (200, 409), response.text


VERBS: dict[str, Callable[..., Awaitable[None]]] = {
    "sweep": _sweep,
    "sweep-eu": _sweep_eu,
    "sweep-beside-an-edit": _sweep_beside_an_edit,
    "approve": _approve,
    "reject": _reject,
    "both": _both,
    "approve-unheard": _approve_unheard,
    "reject-unheard": _reject_unheard,
    "edit": _edit,
    "reopen": _reopen,
    "halt": _halt,
    "resume": _resume,
    "wait": _wait,
}


def later(now: datetime, seconds: int) -> datetime:
    return now + timedelta(seconds=seconds)
