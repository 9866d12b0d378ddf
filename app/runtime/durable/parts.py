"""What every host builds its instances from, and whom it wakes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from app.runtime.durable.agent import Agent
from app.runtime.durable.delivery import RETRIES_MAX
from app.runtime.durable.instance import Instance
from app.runtime.durable.sealing import Cipher
from app.runtime.durable.storage import Storage
from app.runtime.instants import Clock
from app.runtime.principal import agent_of
from app.runtime.registration import Registration
from app.runtime.tools.approvals import ApprovalStore
from app.runtime.tools.pipeline import Pipeline

MAIN = "main"  # the instance that every registered agent has from the start
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Parts:
    registrations: Mapping[str, Registration]
    make_agent: Callable[[str], Agent[Any]]
    pipeline: Pipeline
    store: ApprovalStore
    cipher: Cipher
    clock: Clock
    new_trace: Callable[[], str]

    def instance(
        self,
        agent: str,
        name: str,
        storage: Storage,
        arm: Callable[[str], None],
        set_alarm: Callable[[str | None], None],
        stopping: Callable[[], bool],
    ) -> Instance:
        """What only the host knows is explained at `Instance`."""
        return Instance(
            self.registrations[agent],
            name,
            self.make_agent(agent),
            storage=storage,
            arm=arm,
            set_alarm=set_alarm,
            pipeline=self.pipeline,
            store=self.store,
            cipher=self.cipher,
            clock=self.clock,
            new_trace=self.new_trace,
            stopping=stopping,
        )

    async def follow_brakes(self) -> None:
        """Those that are on hold from now on. Where they cannot be read, the last ones hold on."""
        try:
            self.pipeline.brakes.replace(await self.store.brakes())
        except Exception:
            log.exception("brakes_not_read")

    def turns(self, answered: Iterable[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], list[str]]]:
        """(agent, instance) and the answered requests that one turn of it delivers."""
        by_instance: dict[tuple[str, str], list[str]] = {}
        for principal_key, request_id in answered:
            who = agent_of(principal_key)
            if who and who[0] in self.registrations:
                by_instance.setdefault(who, []).append(request_id)
        for name, request_ids in by_instance.items():
            for first in range(0, len(request_ids), RETRIES_MAX):
                yield name, request_ids[first : first + RETRIES_MAX]
