"""Operators' doors to the agents, and the wall in front of everybody else's."""

from typing import Annotated, Any

from litestar import HttpMethod, get, post, route
from litestar.di import NamedDependency
from litestar.exceptions import PermissionDeniedException
from litestar.params import QueryParameter

from app.auth import operator, person
from app.domain import MAX_ID, NotFound
from app.runtime.durable.host import Host


@get("/ops/agents/triager", name="agents.triager.show", budget=1, guards=[person])
async def show_triager(host: NamedDependency[Host]) -> dict[str, Any]:
    """What the triager has done and waits for, its policy, jobs, limits and sweeps."""
    return dict(await host.get("triager", "main").call("overview"))


@get("/ops/agents/triager/verdicts", name="agents.triager.verdicts", budget=1, guards=[person], refuses=(404,))
async def show_verdicts(
    host: NamedDependency[Host], run: Annotated[int | None, QueryParameter(ge=1, le=MAX_ID)] = None
) -> dict[str, Any]:
    """What a sweep decided about each ticket it looked at, and why: that of a run, or the last."""
    verdicts = await host.get("triager", "main").call("verdicts", run)
    if verdicts is None:
        raise NotFound(f"No sweep {run} is kept. Nothing was executed. See: GET /ops/agents/triager")
    return {"verdicts": verdicts}


@get("/ops/agents/triager/plan", name="agents.triager.plan", budget=1, guards=[person])
async def show_plan(host: NamedDependency[Host]) -> dict[str, Any]:
    """What a sweep would do now about each ticket, and why. Changes nothing."""
    return dict(await host.get("triager", "main").call("plan"))


@post(
    "/ops/agents/triager/sweep",
    name="agents.triager.sweep",
    budget=2,
    guards=[operator],
    status_code=200,
    refuses=(409,),
)
async def sweep_now(host: NamedDependency[Host]) -> dict[str, Any]:
    """Look for stale tickets now. What that came to."""
    return {"swept": await host.get("triager", "main").call("sweep")}


@route(["/agents", "/agents/{rest:path}"], http_method=list(HttpMethod), public=True, include_in_schema=False)
async def deny() -> None:
    """Nobody reaches an instance from outside, and no answer tells which exist."""
    raise PermissionDeniedException("Agents cannot be reached here. Nothing was executed. See: /ops/agents/triager")


routes = (show_triager, show_verdicts, show_plan, sweep_now, deny)
