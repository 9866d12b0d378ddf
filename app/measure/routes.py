"""What each route costs: its statements against the `budget=` that it declares, its CPU, wall time and memory."""

import re
from collections.abc import Iterator
from http import HTTPStatus

from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from app.main import System
from app.measure.asgi import TRACE, Answer, Request, in_process
from app.measure.furnished import Clock, Furnished
from app.measure.probe import Cost, Statement, cost, explained, peak_kb, spent, watching
from app.measure.samples import Sample, sample


class Unmeasured(Exception):
    """A route did not answer as it does when all is well, so its figures would be none."""


class Measured(Struct, frozen=True):
    name: str
    budget: int | None
    sample: Sample


ENDLESS = ("console.events",)  # never answers in full


def routes(system: System) -> Iterator[Measured]:
    """Every route of the app that ends; `budget` is None where it declares none."""
    for route in system.litestar.routes:
        for handler in getattr(route, "route_handlers", ()):
            if isinstance(handler, HTTPRouteHandler) and handler.name and handler.name not in ENDLESS:
                method = next(iter(sorted(str(one) for one in handler.http_methods)))
                yield Measured(handler.name, handler.opt.get("budget"), sample(handler.name, method, route.path))


async def measure(house: Furnished, clock: Clock, one: Measured, repeat: int) -> Cost:
    times: list[tuple[float, float]] = []
    statements: list[Statement] = []
    for _ in range(repeat):
        request = await one.sample(house)
        with watching() as seen:
            times.append(await spent(lambda: _answered(house, request)))  # noqa: B023 (called at once)
        own = next((one.statements for one in seen if one.trace == TRACE), [])  # a turn that it causes comes later
        statements = max(statements, own, key=len)
        await house.system.host.drain()
        if one.name.endswith("sweep"):
            clock.pass_minutes()  # an agent's calls are limited by the minute
    request = await one.sample(house)
    peak = await peak_kb(lambda: _answered(house, request))
    await house.system.host.drain()
    return cost(one.name, one.budget, explained(house.system.settings.database, statements), times, peak)


async def _answered(house: Furnished, request: Request) -> Answer:
    answer = await in_process(house.system.app, request)
    expect(request, answer)
    return answer


def expect(request: Request, answer: Answer) -> None:
    if answer.status >= HTTPStatus.BAD_REQUEST:
        said = re.sub("<[^>]*>|\\s+", " ", answer.body.decode(errors="replace"))[:600]
        raise Unmeasured(
            f"{request.method} {request.target} answered {answer.status}, so nothing was measured. "
            f"Add a request that it answers to app/measure/samples.py. It said: {said}"
        )


def over(costs: list[Cost]) -> Iterator[str]:
    """What exceeds its budget, or has none, in words."""
    for one in costs:
        if one.budget is None:
            yield f"{one.name} declares no budget: write budget={one.statements} on its route."
        elif one.over:
            yield f"{one.name} ran {one.statements} statements, and its budget is {one.budget}."
