"""One agent instance, awake: its turns, one at a time, and what it must wake for next."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog

from app.runtime import invocation
from app.runtime.durable.agent import Agent, Context
from app.runtime.durable.delivery import Delivery, Settled
from app.runtime.durable.ledger import Ledger
from app.runtime.durable.runs import Runs
from app.runtime.durable.schedules import Schedule, Schedules
from app.runtime.durable.sealing import Cipher
from app.runtime.durable.state import State
from app.runtime.durable.storage import Storage
from app.runtime.errors import Halted, Stopping, WiringError
from app.runtime.instants import Clock, plain
from app.runtime.principal import Principal
from app.runtime.registration import Registration
from app.runtime.steps import Step, reached
from app.runtime.tools.approvals import ApprovalStore
from app.runtime.tools.brakes import Brake
from app.runtime.tools.budget import Meter
from app.runtime.tools.client import Tools
from app.runtime.tools.pipeline import Caller, Pipeline

log = structlog.get_logger()


class Instance:
    """Built by a host, from what only the host knows: the storage, the alarm (`arm`: by then at the latest), the parts.

    `set_alarm(at)` replaces the alarm; None clears it. Once `stopping()`, no turn begins, and none goes on to another
    call or row: it raises Stopping. While a brake holds the agent, what is due stands.
    """

    def __init__(
        self,
        registration: Registration,
        name: str,
        agent: Agent[Any],
        *,
        storage: Storage,
        arm: Callable[[str], None],
        set_alarm: Callable[[str | None], None],
        pipeline: Pipeline,
        store: ApprovalStore,
        cipher: Cipher,
        clock: Clock,
        new_trace: Callable[[], str],
        stopping: Callable[[], bool],
    ) -> None:
        self._agent, self._storage, self._clock, self._stopping = agent, storage, clock, stopping
        self._set_alarm, self._new_trace = set_alarm, new_trace
        self._lock, self._started = asyncio.Lock(), False
        principal = Principal.agent(registration.name, name)
        self._halted: Callable[[], Brake | None] = lambda: pipeline.brakes.halted(principal.key)
        self._ledger = Ledger(storage, cipher, principal.key, arm)
        meter = Meter(registration.calls_per_minute)
        caller = Caller(principal, registration.scopes, meter, self._ledger, registration.open_requests)
        self._delivery = Delivery(self._ledger, store, pipeline, caller, clock, self._tell, stopping)
        self._schedules = Schedules(storage, lambda callback: callable(getattr(agent, callback, None)))
        self._state: State[Any] = State(storage, agent.state_type)
        tools = Tools(pipeline, store, caller, self._ledger, clock, stopping)
        agent._context = Context(name, storage, self._state, self._schedules, Runs(storage), tools, clock)

    def close(self) -> None:
        """Drop it from memory: state, schedules and ledger are on disk; the budget's window is not."""
        self._storage.close()

    async def call(self, method: str, *arguments: Any, trace: str | None = None) -> Any:
        """Run one of the agent's `rpc` methods as a turn. Its answer comes back as plain JSON values. Raises Halted."""
        if method not in self._agent.rpc:
            raise WiringError(f"{type(self._agent).__name__} offers {', '.join(self._agent.rpc)}, not {method}.")
        if self.acts(method):
            self._not_halted()
        async with self._turn(method, trace, reading=not self.acts(method)):
            return plain(await getattr(self._agent, method)(*arguments))

    def acts(self, method: str) -> bool:
        """False for what answers while the agent is halted."""
        return method not in self._agent.reads

    @property
    def is_halted(self) -> bool:
        return self._halted() is not None

    async def alarm(self) -> None:
        """Everything that is due: schedules, each a turn of its own, then the calls that wait."""
        async with self._turn("alarm"):
            self._schedules.set_right(self._clock())
            due = self._schedules.due(self._clock())
        for schedule in due:
            if self._halted():
                return
            async with self._turn(schedule.callback):
                await self._run(schedule)
        if not self._halted():
            async with self._turn("deliver"):
                await self._delivery.deliver(self._ledger.due(self._clock()))

    async def wake(self, request_ids: list[str], trace: str | None) -> None:
        """These were answered: deliver them now."""
        reached(Step.WOKEN)
        async with self._turn("wake", trace):
            await self._delivery.deliver(request_ids)

    async def look(self, trace: str | None) -> None:
        """Deliver whatever can be, of all that waits. Raises Halted."""
        self._not_halted()
        async with self._turn("look", trace):
            await self._delivery.deliver(self._ledger.ids())

    async def pause(self, callback: str, key: str, note: str | None, by: str) -> bool:
        """Let a schedule stand until its pause is taken back (None does that). False when there is no such thing."""
        async with self._turn("pause"):
            return self._schedules.pause(callback, key, note, by, self._clock())

    def _not_halted(self) -> None:
        if brake := self._halted():
            raise Halted(f"{brake} Nothing was executed. To let it go on: {brake.release}")

    @asynccontextmanager
    async def _turn(self, what: str, trace: str | None = None, *, reading: bool = False) -> AsyncIterator[None]:
        """`reading`: it changes nothing, so nothing is started for it either, and the alarm stays as it is."""
        async with self._lock:
            if self._stopping():
                raise Stopping
            with invocation.begin(trace or self._new_trace(), reading=reading) as own:
                if not self._started and not reading:
                    await self._start()
                try:
                    yield
                finally:
                    if not reading:
                        self._set_alarm(self._next_at())
                    if own.statements:
                        log.info("turn", what=what, instance=self._agent.name, statements=own.statements)

    async def _start(self) -> None:
        await self._agent.on_start()
        self._started = True
        for callback in self._schedules.set_aside():
            log.warning("schedule_set_aside", callback=callback, instance=self._agent.name, why="no such method")

    def _next_at(self) -> str | None:
        return min(filter(None, (self._schedules.next_at(self._clock()), self._ledger.next_at())), default=None)

    async def _run(self, schedule: Schedule) -> None:
        arguments = () if schedule.payload is None else (schedule.payload,)
        try:
            with self._schedules.running(schedule):
                await getattr(self._agent, schedule.callback)(*arguments)
            self._schedules.done(schedule, self._clock())
        except Stopping:
            raise  # no failure of the job: it is still due
        except Exception:
            log.exception("schedule_failed", callback=schedule.callback, instance=self._agent.name)
            self._schedules.failed(schedule, self._clock())

    async def _tell(self, event: Settled) -> None:
        """Step 9: the hook hears the verdict; its state and the row's deletion are one transaction."""
        with self._state.held_back():
            await self._agent.on_tool_approval_settled(event)
            reached(Step.TOLD)
            self._storage.atomically(lambda: self._settle(event.request_id))

    def _settle(self, request_id: str) -> None:
        self._state.save()
        self._ledger.forget(request_id)
