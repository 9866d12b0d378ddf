"""Operators' doors to the agents, and the wall in front of everybody else's."""

from typing import Any

from litestar import HttpMethod, get, post, route
from litestar.di import NamedDependency
from litestar.exceptions import PermissionDeniedException

from app.auth import operator, person
from app.runtime.durable.host import Host


@get("/ops/agents/triager", name="agents.triager.show", guards=[person])
async def show_triager(host: NamedDependency[Host]) -> dict[str, Any]:
    """What the triager has done, and what it waits for."""
    return {"report": await host.get("triager", "main").call("report")}


@get("/ops/agents/triager/verdicts", name="agents.triager.verdicts", guards=[person])
async def show_verdicts(host: NamedDependency[Host]) -> dict[str, Any]:
    """What the last sweep decided about each ticket it looked at, and why."""
    return {"verdicts": await host.get("triager", "main").call("verdicts")}


@post("/ops/agents/triager/sweep", name="agents.triager.sweep", guards=[operator], status_code=200, refuses=(409,))
async def sweep_now(host: NamedDependency[Host]) -> dict[str, Any]:
    """Look for stale tickets now. What that came to."""
    return {"swept": await host.get("triager", "main").call("sweep")}


@route(["/agents", "/agents/{rest:path}"], http_method=list(HttpMethod), public=True, include_in_schema=False)
async def deny() -> None:
    """Nobody reaches an instance from outside, and no answer tells which exist."""
    raise PermissionDeniedException("Agents cannot be reached here. Nothing was executed. See: /ops/agents/triager")


routes = (show_triager, show_verdicts, sweep_now, deny)
