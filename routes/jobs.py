"""The pause that lets one job of an agent stand, whichever door it is pressed at, and its door for programs."""

from dataclasses import dataclass
from datetime import datetime

from litestar import post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from app.auth import operator
from app.domain import NotFound
from app.runtime.durable.host import Host
from app.runtime.principal import Principal
from app.schemas import Pause, Paused, Unpause
from app.services import events
from db.engine import Database


@dataclass(frozen=True, slots=True)
class Jobs:
    """The instance keeps the pause; the event tells of it. Raises NotFound, and what `host.get` raises."""

    db: Database
    host: Host
    by: Principal
    now: datetime

    async def pause(self, agent: str, instance: str, callback: str, key: str, note: str | None) -> None:
        """`note` None takes the pause back: a job that is late then runs at once."""
        if not await self.host.get(agent, instance).pause(callback, key, note, self.by.name):
            job = f'{"paused job" if note is None else "job"} "{callback}"'
            raise NotFound(f"There is no {job}. Nothing was changed. See: triager agent show {agent}")
        await self.db.write(
            events.record,
            subject=f"agent:{agent}",
            kind="unpaused" if note is None else "paused",
            by=self.by,
            now=self.now,
            data={"instance": instance, "job": callback, "key": key, "note": note},
        )


def jobs(
    db: NamedDependency[Database],
    host: NamedDependency[Host],
    by: NamedDependency[Principal],
    now: NamedDependency[datetime],
) -> Jobs:
    return Jobs(db, host, by, now)


@post("/ops/agents/triager/pause", name="jobs.pause", budget=2, guards=[operator], status_code=200, refuses=(404,))
async def pause(data: JSONBody[Pause], jobs: NamedDependency[Jobs]) -> Paused:
    """Let a job of the triager stand until its pause is taken back."""
    await jobs.pause("triager", "main", data.callback, data.key, data.note)
    return Paused(callback=data.callback, key=data.key, note=data.note)


@post("/ops/agents/triager/unpause", name="jobs.unpause", budget=2, guards=[operator], status_code=200, refuses=(404,))
async def unpause(data: JSONBody[Unpause], jobs: NamedDependency[Jobs]) -> Paused:
    """Let a paused job of the triager run again: at once, if it is late, and then at its times."""
    await jobs.pause("triager", "main", data.callback, data.key, None)
    return Paused(callback=data.callback, key=data.key, note=None)


routes = (pause, unpause)
