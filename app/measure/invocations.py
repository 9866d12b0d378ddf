"""`triager measure`: every route and the story's own invocations, in process and through a server on loopback."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from app.domain import NotFound
from app.measure import routes, story, wire
from app.measure.bench import KEY, installed, running
from app.measure.furnished import Clock, Furnished
from app.measure.probe import Cost
from app.measure.process import served
from app.runtime.instants import utc_now

Tell = Callable[[str], None]


async def measure(tell: Tell, *, only: Collection[str] = (), repeat: int = 20, wire: bool = True) -> list[Cost]:
    """`only`: routes and invocations whose names begin with one of these; empty means all."""
    costs = [cost async for cost in _in_process(tell, tuple(only) or ("",), repeat)]
    if not costs:
        raise NotFound(f"Nothing begins with {' or '.join(only)}. Nothing was measured. Leave it out to see all names.")
    if wire:
        await _over_the_wire(tell, costs, repeat)
    return costs


async def _in_process(tell: Tell, wanted: tuple[str, ...], repeat: int) -> AsyncIterator[Cost]:
    for measured in (_routes, _story):  # each on an installation of its own: one's requests are in the other's way
        async for cost in measured(wanted, repeat):
            tell(cost.name)
            yield cost


async def _routes(wanted: tuple[str, ...], repeat: int) -> AsyncIterator[Cost]:
    async with furnished() as (house, clock):
        for one in routes.routes(house.system):
            if one.name.startswith(wanted):
                yield await routes.measure(house, clock, one, repeat)


async def _story(wanted: tuple[str, ...], repeat: int) -> AsyncIterator[Cost]:
    async with furnished() as (house, clock):
        async for cost in story.measure(house, clock, repeat, wanted):
            yield cost


@asynccontextmanager
async def furnished() -> AsyncIterator[tuple[Furnished, Clock]]:
    clock = Clock(utc_now())
    with installed(clock) as system:
        house = Furnished(system)
        await house.furnish()
        async with running(system):
            yield house, clock


async def _over_the_wire(tell: Tell, costs: list[Cost], repeat: int) -> None:
    with installed() as system:
        house = Furnished(system)
        await house.furnish()
        named = {one.name: one for one in routes.routes(system)}
        with served("app.cli", "serve", DATA_DIR=str(system.settings.data_dir), APP_KEY=KEY, PORT="0") as server:
            for cost in costs:
                if one := named.get(cost.name):
                    tell(f"{cost.name}, on loopback")
                    cost.wire_cpu_ms = await wire.cpu_ms(server, house, one, repeat)
