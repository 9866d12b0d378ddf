"""Brakes as rows, for tests in which only the table knows of them, and levers for the others."""

from sqlalchemy import delete, insert

from app.services import brakes
from db.schema import BrakeRow
from tests.support import OPERATOR, ago
from tests.world import World


async def brake(world: World, agent: str = "*") -> None:
    """The row and nothing else: no host has heard of it."""
    row = {"agent": agent, "by": "Ops On-Call", "at": ago(0), "note": "a leak"}
    await world.system.db.write(lambda s: s.execute(insert(BrakeRow).values(row)) and None)


async def release(world: World) -> None:
    await world.system.db.write(lambda s: s.execute(delete(BrakeRow)) and None)


async def halt(world: World, agent: str | None = None) -> None:
    host = world.system.host
    await world.system.db.write(brakes.halt, agent, host.agents, by=OPERATOR, now=world.clock.at, note="a leak")
    await host.follow_brakes()


async def resume(world: World, agent: str | None = None) -> None:
    host = world.system.host
    await world.system.db.write(brakes.resume, agent, host.agents, by=OPERATOR, now=world.clock.at)
    await host.follow_brakes()
    await host.drain()
