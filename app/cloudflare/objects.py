"""The host on Workers: each instance is a Durable Object, with a database and an alarm of its own.

What the platform offers comes in as arguments; so nothing here needs it to be imported.
"""

import json
from collections.abc import Callable, Collection, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

import structlog

from app.cloudflare.answers import taken
from app.runtime import invocation
from app.runtime.durable.parts import MAIN, Parts
from app.runtime.errors import AgentNotRegistered

Background = Callable[[Coroutine[Any, Any, None]], None]  # carries it on when the request has been answered
Namespace = Callable[[str], Any]  # the binding of an agent's objects
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ObjectStub:
    """Everything crosses as JSON text: so nothing changes its type on the way. See `app/cloudflare/instance.py`."""

    remote: Any
    instance: str

    async def call(self, method: str, *arguments: Any) -> Any:
        return taken(await self.remote.call(self.instance, method, json.dumps(arguments), invocation.trace_id()))

    async def pause(self, callback: str, key: str, note: str | None, by: str) -> bool:
        return bool(taken(await self.remote.pause(self.instance, callback, key, note, by)))

    async def wake(self, request_ids: list[str], trace: str | None) -> None:
        taken(await self.remote.wake(self.instance, json.dumps(request_ids), trace))

    async def start(self) -> None:
        taken(await self.remote.start(self.instance))


class ObjectHost:
    """See `app.runtime.durable.host.Host`. The platform keeps the alarms, and rings them."""

    def __init__(self, parts: Parts, namespace: Namespace, background: Background) -> None:
        self._parts, self._namespace, self._background = parts, namespace, background

    @property
    def agents(self) -> Collection[str]:
        return self._parts.registrations.keys()

    def get(self, agent: str, instance: str) -> ObjectStub:
        if agent not in self._parts.registrations:
            raise AgentNotRegistered(agent, sorted(self._parts.registrations))
        return ObjectStub(self._namespace(agent).getByName(instance), instance)

    def wake(self, answered: Iterable[tuple[str, str]]) -> None:
        for name, request_ids in self._parts.turns(answered):
            self._background(self._wake(name, request_ids, invocation.trace_id()))

    async def start(self) -> None:
        """Main instances register their schedules; answers that nobody has carried out yet are delivered."""
        for agent in self._parts.registrations:
            await self.get(agent, MAIN).start()
        await self.follow_brakes()

    async def follow_brakes(self) -> None:
        """Each instance reads them before its turns. Whoever was let go delivers what was answered meanwhile."""
        self.wake(await self._parts.store.undelivered(self._parts.clock()))

    async def _wake(self, name: tuple[str, str], request_ids: list[str], trace: str | None) -> None:
        try:
            await self.get(*name).wake(request_ids, trace)
        except Exception:
            log.exception("wake_failed", agent=name[0], instance=name[1])  # the ledger's alarm will find them

    def lag_s(self) -> float | None:
        """The platform rings on time, and tells nobody when it did not."""
        return 0.0
