"""An agent's page: what it has done, what it waits for, and the levers."""

from functools import partial
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import URLEncodedBody
from msgspec import Struct

from app.auth import operator
from app.domain import Unavailable
from app.runtime.durable.host import Stub
from routes.brakes import Lever
from routes.console.desk import Desk

AGENT = "/console/agents/triager"


class Held(Struct):
    """Which agent; empty means all of them."""

    agent: str = ""


async def _page(desk: Desk, notice: str | None = None, status: int = 200) -> Response[str]:
    report, verdicts = await desk.agent.call("report"), await desk.agent.call("verdicts")
    return await desk.show("agent.html", report=report, verdicts=verdicts, notice=notice, status=status)


@get(AGENT, name="console.agent")
async def agent_page(desk: NamedDependency[Desk]) -> Response[str]:
    return await _page(desk)


@post("/console/sweep", name="console.sweep", guards=[operator], status_code=200)
async def sweep(desk: NamedDependency[Desk]) -> Response[Any]:
    return await desk.act(_sweep(desk.agent), then=lambda _: AGENT, on=partial(_page, desk))


async def _sweep(agent: Stub) -> None:
    if why := (await agent.call("sweep"))["error"]:
        raise Unavailable(f"The sweep saw nothing: {why}")


@post("/console/halt", name="console.halt", guards=[operator], status_code=200)
async def halt(desk: NamedDependency[Desk], lever: NamedDependency[Lever]) -> Response[Any]:
    return await desk.act(lever.halt(None, None), then=lambda _: AGENT, on=partial(_page, desk))


@post("/console/resume", name="console.resume", guards=[operator], status_code=200)
async def resume(
    data: URLEncodedBody[Held], desk: NamedDependency[Desk], lever: NamedDependency[Lever]
) -> Response[Any]:
    return await desk.act(lever.resume(data.agent or None), then=lambda _: AGENT, on=partial(_page, desk))


routes = (agent_page, sweep, halt, resume)
