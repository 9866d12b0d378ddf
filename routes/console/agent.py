"""An agent's page: what it has done, what it waits for, and the levers. A sweep's verdicts have a page of their own."""

from collections import Counter
from collections.abc import Awaitable
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, TypeVar

import structlog
from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, URLEncodedBody
from msgspec import Struct

from app.auth import operator
from app.domain import VERDICTS, NotFound, Refusal, Unavailable
from app.runtime import invocation
from app.runtime.errors import Halted, Stopping
from app.runtime.principal import Principal
from app.schemas import Note
from app.services.agent_requests import requests_of
from routes.brakes import Lever
from routes.console.desk import Desk
from routes.console.sweep_chart import DONE, HEIGHT, LINES, WIDTH, chart_of
from routes.jobs import Jobs
from routes.pages import relative

T = TypeVar("T")
AGENT = "/console/agents/triager"
NAME, INSTANCE = "triager", "main"
KEY = Principal.agent(NAME, INSTANCE).key
SWEEPS_SHOWN, VERDICTS_SHOWN = 20, 100
After = Annotated[int, QueryParameter(ge=0)]  # how many verdicts come before


class Held(Struct):
    """Which agent; empty means all of them."""

    agent: str = ""


class Hold(Held):
    note: Note = ""


class Job(Struct):
    callback: str
    key: str = ""
    note: Note = ""


@get(AGENT, name="console.agent", budget=3)
async def agent_page(desk: NamedDependency[Desk], swept: FromQuery[str | None] = None) -> Response[str]:
    """`swept`: when the sweep ended that somebody has just let run."""
    return await _page(desk, swept=swept)


async def _page(desk: Desk, notice: str | None = None, status: int = 200, swept: str | None = None) -> Response[str]:
    """Where the agent gives no answer, the page says so; the levers work all the same."""
    try:
        overview = await _answer(desk.agent.call("overview"))
    except Unavailable as silent:
        return await desk.show(
            "agent.html", overview=None, refresh=AGENT, notice=notice or str(silent), status=max(status, silent.status)
        )
    report, sweeps = overview["report"], overview["sweeps"]
    after = next((_said(one) for one in sweeps[:1] if one["at"] == swept), None)
    ids = [one["request_id"] for one in (*report["parked"], *report["settled"])]
    return await desk.show(
        "agent.html",
        overview=overview,
        requests=await desk.db.read(requests_of, KEY, ids, desk.now),
        median=_lasting(report["answers"]["median_wait_s"], desk),
        asleep=desk.host.lag_s() is None,
        sweeps=sweeps[:SWEEPS_SHOWN],
        chart=chart_of(sweeps[::-1]),
        chart_count=len(sweeps),
        oldest=sweeps[-1]["at"] if sweeps else None,
        frame=(WIDTH, HEIGHT),
        lines=LINES,
        sums={name: sum(one[name] for one in sweeps) for name in (*DONE, "deferred")},
        refresh=f"{AGENT}?swept={swept}" if after else AGENT,
        notice=notice or after,
        status=status,
    )


def _said(sweep: dict[str, Any]) -> str:
    return f"Swept: {sweep['stale']} stale tickets, {sweep['asked']} asked about, {sweep['deferred']} left."


def _lasting(seconds: float | None, desk: Desk) -> str | None:
    """ "14 minutes"."""
    return relative(desk.now + timedelta(seconds=seconds), desk.now).removeprefix("in ") if seconds else None


async def _answer(turn: Awaitable[T]) -> T:
    """What the agent answers. Raises Unavailable where its turn fails, or its host is stopping; and Halted."""
    try:
        return await turn
    except (Refusal, Halted):
        raise
    except Stopping as stopping:
        raise Unavailable(str(stopping)) from stopping
    except Exception as error:
        structlog.get_logger("triager").exception("agent_turn_failed", trace_id=invocation.trace_id())
        raise Unavailable(
            f"The agent's turn failed; what it has begun goes on at its next one. Look into the log for the trace "
            f"{invocation.trace_id()}."
        ) from error


@get(f"{AGENT}/sweeps", name="console.agent.sweeps", budget=2)
async def sweeps_page(desk: NamedDependency[Desk]) -> Response[str]:
    overview = await _answer(desk.agent.call("overview"))
    return await desk.show("sweeps.html", sweeps=overview["sweeps"], refresh=f"{AGENT}/sweeps")


@get(f"{AGENT}/sweeps/{{run:int}}", name="console.agent.sweep", budget=2)
async def sweep_page(
    run: FromPath[int],
    desk: NamedDependency[Desk],
    only: FromQuery[str | None] = None,
    after: After = 0,
) -> Response[str]:
    """What one sweep decided about each ticket."""
    kept = {one["run"]: one for one in (await _answer(desk.agent.call("overview")))["sweeps"]}
    verdicts = await _answer(desk.agent.call("verdicts", run)) if run in kept else None
    if verdicts is None:
        raise NotFound(f"No sweep {run} is kept any more, or yet. Those that are: {AGENT}")
    beside = [number if number in kept else None for number in (run - 1, run + 1)]
    return await _verdicts(desk, verdicts, only, after, sweep=kept[run], beside=beside)


@get(f"{AGENT}/plan", name="console.agent.plan", budget=2)
async def plan_page(
    desk: NamedDependency[Desk],
    only: FromQuery[str | None] = None,
    after: After = 0,
) -> Response[str]:
    """What a sweep would decide now. It changes nothing, so a link may lead here."""
    plan = await _answer(desk.agent.call("plan"))
    return await _verdicts(desk, plan["verdicts"], only, after, sweep=plan, beside=None)


async def _verdicts(
    desk: Desk, verdicts: list[dict[str, Any]], only: str | None, after: int, **more: Any
) -> Response[str]:
    chosen = [one for one in verdicts if only in (None, one["verdict"])]
    return await desk.show(
        "sweep.html",
        refresh="",  # what one reads stays as it is
        verdicts=chosen[after : after + VERDICTS_SHOWN],
        words=VERDICTS,
        counted=Counter(one["verdict"] for one in verdicts),
        only=only,
        next=after + VERDICTS_SHOWN if len(chosen) > after + VERDICTS_SHOWN else None,
        **more,
    )


@post("/console/sweep", name="console.sweep", budget=2, guards=[operator], status_code=200)
async def sweep(desk: NamedDependency[Desk]) -> Response[Any]:
    return await desk.act(_sweep(desk), then=lambda at: f"{AGENT}?swept={at}", on=partial(_page, desk))


async def _sweep(desk: Desk) -> str:
    swept = await _answer(desk.agent.call("sweep"))
    if swept["error"]:
        raise Unavailable(f"The sweep saw nothing: {swept['error']}")
    return str(swept["at"])


@post("/console/halt", name="console.halt", budget=5, guards=[operator], status_code=200)
async def halt(data: URLEncodedBody[Hold], desk: NamedDependency[Desk], lever: NamedDependency[Lever]) -> Response[Any]:
    return await desk.act(
        lever.halt(data.agent or None, data.note or None), then=lambda _: AGENT, on=partial(_page, desk)
    )


@post("/console/resume", name="console.resume", budget=6, guards=[operator], status_code=200)
async def resume(
    data: URLEncodedBody[Held], desk: NamedDependency[Desk], lever: NamedDependency[Lever]
) -> Response[Any]:
    return await desk.act(lever.resume(data.agent or None), then=lambda _: AGENT, on=partial(_page, desk))


@post(f"{AGENT}/pause", name="console.agent.pause", budget=2, guards=[operator], status_code=200)
async def pause(data: URLEncodedBody[Job], desk: NamedDependency[Desk], jobs: NamedDependency[Jobs]) -> Response[Any]:
    return await _paused(desk, jobs, data, data.note)


@post(f"{AGENT}/unpause", name="console.agent.unpause", budget=2, guards=[operator], status_code=200)
async def unpause(data: URLEncodedBody[Job], desk: NamedDependency[Desk], jobs: NamedDependency[Jobs]) -> Response[Any]:
    return await _paused(desk, jobs, data, None)


async def _paused(desk: Desk, jobs: Jobs, job: Job, note: str | None) -> Response[Any]:
    change = _answer(jobs.pause(NAME, INSTANCE, job.callback, job.key, note))
    return await desk.act(change, then=lambda _: AGENT, on=partial(_page, desk))


routes = (agent_page, sweeps_page, sweep_page, plan_page, sweep, halt, resume, pause, unpause)
