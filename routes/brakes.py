"""The lever that halts agents and lets them go on, whichever door it is pulled at, and its door for programs."""

from dataclasses import dataclass
from datetime import datetime

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from app.auth import operator, person
from app.runtime.durable.host import Host
from app.runtime.principal import Principal
from app.runtime.tools.brakes import Brake
from app.schemas import BrakesOut, Halt, Resume
from app.services import brakes
from db.engine import Database


@dataclass(frozen=True, slots=True)
class Lever:
    """Raises what `services.brakes` raises. The host hears of it when the row is written."""

    db: Database
    host: Host
    by: Principal
    now: datetime

    async def halt(self, agent: str | None, note: str | None) -> BrakesOut:
        halted = await self.db.write(brakes.halt, agent, self.host.agents, by=self.by, now=self.now, note=note)
        await self.host.follow_brakes()
        return halted

    async def resume(self, agent: str | None) -> BrakesOut:
        resumed = await self.db.write(brakes.resume, agent, self.host.agents, by=self.by, now=self.now)
        await self.host.follow_brakes()
        return resumed


def lever(
    db: NamedDependency[Database],
    host: NamedDependency[Host],
    by: NamedDependency[Principal],
    now: NamedDependency[datetime],
) -> Lever:
    return Lever(db, host, by, now)


@get("/ops/agents/brakes", name="brakes.index", budget=2, guards=[person])
async def list_brakes(db: NamedDependency[Database]) -> list[Brake]:
    """Who is halted."""
    return await db.read(brakes.listing)


@post("/ops/agents/halt", name="brakes.halt", budget=5, guards=[operator], status_code=200, refuses=(404,))
async def halt(data: JSONBody[Halt], lever: NamedDependency[Lever]) -> BrakesOut:
    """Stop agents before their next call."""
    return await lever.halt(data.agent, data.note)


@post("/ops/agents/resume", name="brakes.resume", budget=6, guards=[operator], status_code=200, refuses=(404,))
async def resume(data: JSONBody[Resume], lever: NamedDependency[Lever]) -> BrakesOut:
    """Let agents go on."""
    return await lever.resume(data.agent)


routes = (list_brakes, halt, resume)
