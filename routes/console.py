"""The console: one page, the fragment that keeps it fresh, and six actions. The rules are the services'.

Without JavaScript an action is a form and a redirect; htmx gets the part of the page that changed.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

from litestar import Request, Response, Router, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect
from msgspec import Struct
from sqlalchemy.orm import Session

from app.auth import BrowserSession, console, operator
from app.domain import Conflict, Invalid, Refusal, Sort, Unavailable
from app.runtime.durable.host import Host, Stub
from app.runtime.errors import Halted
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from app.runtime.tools.brakes import Brake, Brakes
from app.schemas import ApprovalOut, ApprovalPage, Reason, TicketPage
from app.services import approvals, brakes
from app.services.ticket_list import TicketQuery, listing
from app.services.users import OPERATE
from config.triage import POLICY
from db.engine import Database
from routes.answers import Answers
from routes.brakes import Lever
from routes.notices import standing
from routes.pages import page

TICKETS_SHOWN = 40


class Answer(Struct):
    reason: Reason = ""


class No(Answer):
    """How long it is remembered: `date` is a day, where `until` says so, and otherwise empty."""

    until: Literal["always", "window", "date"] = "always"
    date: str = ""


class Held(Struct):
    """Which agent; empty means all of them."""

    agent: str = ""


@dataclass(frozen=True, slots=True)
class Desk:
    """What the page is made from, for whoever sits at it."""

    request: Request[Principal, Any, Any]
    db: Database
    now: datetime
    host: Host

    async def show(self, template: str, *, notice: str | None = None, status: int = 200, **more: Any) -> Response[str]:
        answers, tickets, held = await self.db.read(_tables, self.now)
        auth = self.request.auth
        return page(
            template,
            status=status,
            notice=notice,
            bad=status >= 400,  # noqa: PLR2004 (HTTP)
            approvals=answers,
            tickets=tickets,
            brakes=held,
            halted=Brakes(held).halted,
            report=await self.agent.call("report"),
            requests={one.id: one for one in answers.pending + answers.resolved},
            csrf=auth.csrf if isinstance(auth, BrowserSession) else "",
            name=self.request.user.name,
            may_operate=OPERATE in self.request.user.abilities,
            now=self.now,
            **more,
        )

    async def act(self, action: Awaitable[ApprovalOut | str]) -> Response[Any]:
        """A refusal is shown on the page it happened on. Words are said at once; a form's page shows what came of it.

        A request's words are found anew by its id: a link that says what happened could say what did not.
        """
        try:
            done = await action
        except Halted as halted:
            return await self._changed(str(halted), Conflict.status)
        except Refusal as refusal:
            return await self._changed(str(refusal), refusal.status)
        if not self._is_htmx:
            return Redirect("/" if isinstance(done, str) else f"/?done={done.id}", status_code=303)
        return await self._changed(done if isinstance(done, str) else await self.standing(done.id))

    async def standing(self, request_id: str) -> str | None:
        return await self.db.read(_standing, request_id, self.now)

    async def _changed(self, notice: str | None, status: int = 200) -> Response[str]:
        if self._is_htmx:
            return await self.show("_fragment.html", part="_live.html", notice=notice, status=status)
        return await self.show("console.html", notice=notice, status=status)

    @property
    def agent(self) -> Stub:
        return self.host.get("triager", "main")

    @property
    def _is_htmx(self) -> bool:
        return self.request.headers.get("hx-request") == "true"


def _tables(session: Session, now: datetime) -> tuple[ApprovalPage, TicketPage, list[Brake]]:
    stale_since = to_text(now - timedelta(days=POLICY["stale_after_days"]))
    query = TicketQuery(sort=Sort.NEWEST, limit=TICKETS_SHOWN, stale_since=stale_since)
    return approvals.listing(session, now=now), listing(session, query), brakes.listing(session)


def _standing(session: Session, request_id: str, now: datetime) -> str | None:
    request = approvals.find(session, request_id, now)
    return standing(request, brakes.holding(session, request.principal)) if request else None


async def desk(
    request: Request[Principal, Any, Any],
    db: NamedDependency[Database],
    now: NamedDependency[datetime],
    host: NamedDependency[Host],
) -> Desk:
    return Desk(request, db, now, host)


@get("/", name="console.index")
async def index(desk: NamedDependency[Desk], done: FromQuery[str | None] = None) -> Response[str]:
    return await desk.show("console.html", notice=await desk.standing(done) if done else None)


@get("/console/panels", name="console.panels")
async def panels(desk: NamedDependency[Desk]) -> Response[str]:
    return await desk.show("_fragment.html", part="_panels.html")


@get("/console/sweep", name="console.verdicts")
async def verdicts(desk: NamedDependency[Desk]) -> Response[str]:
    return page("sweep.html", verdicts=await desk.agent.call("verdicts"), now=desk.now)


@post("/console/approvals/{request_id:str}/approve", name="console.approve", guards=[operator], status_code=200)
async def approve(
    request_id: FromPath[str],
    data: URLEncodedBody[Answer],
    desk: NamedDependency[Desk],
    answers: NamedDependency[Answers],
) -> Response[Any]:
    return await desk.act(answers.approve(request_id, data.reason))


@post("/console/approvals/{request_id:str}/reject", name="console.reject", guards=[operator], status_code=200)
async def reject(
    request_id: FromPath[str],
    data: URLEncodedBody[No],
    desk: NamedDependency[Desk],
    answers: NamedDependency[Answers],
) -> Response[Any]:
    return await desk.act(_reject(answers, request_id, data, desk.now))


async def _reject(answers: Answers, request_id: str, no: No, now: datetime) -> ApprovalOut:
    if (no.until == "date") != bool(no.date):
        raise Invalid('Choose both "until a date" and a date, or neither. Nothing was decided.')
    until_at = _end_of(no.date, now) if no.date else None
    return await answers.reject(request_id, no.reason, until_at, until_window_ends=no.until == "window")


def _end_of(day: str, now: datetime) -> str:
    """The last moment, in UTC, of a day as the form sends it. Raises Invalid in the form's words."""
    try:
        at = datetime.combine(date.fromisoformat(day), time.max, UTC)
    except ValueError:
        at = None
    if at is None or at.date().isoformat() != day:
        raise Invalid(f'"{day[:40]}" is no date. Nothing was decided. Choose a day that is in the calendar.')
    if at < now:
        raise Invalid(f"The day {day} is over (UTC). Nothing was decided. Choose today or a later day.")
    return to_text(at)


@post("/console/approvals/{request_id:str}/ask-again", name="console.ask_again", guards=[operator], status_code=200)
async def ask_again(
    request_id: FromPath[str], desk: NamedDependency[Desk], answers: NamedDependency[Answers]
) -> Response[Any]:
    return await desk.act(answers.ask_again(request_id))


@post("/console/halt", name="console.halt", guards=[operator], status_code=200)
async def halt(desk: NamedDependency[Desk], lever: NamedDependency[Lever]) -> Response[Any]:
    return await desk.act(_halt(lever))


async def _halt(lever: Lever) -> str:
    await lever.halt(None, None)
    return "Halted. Nothing is asked, answered or carried out until somebody resumes it."


@post("/console/resume", name="console.resume", guards=[operator], status_code=200)
async def resume(
    data: URLEncodedBody[Held], desk: NamedDependency[Desk], lever: NamedDependency[Lever]
) -> Response[Any]:
    return await desk.act(_resume(lever, data.agent or None))


async def _resume(lever: Lever, agent: str | None) -> str:
    done = await lever.resume(agent)
    if not done.changed:
        return "There was no such halt; somebody else may have resumed it."
    return (
        "Resumed. Another halt still stands."
        if done.brakes
        else "Resumed. What was answered before is carried out now."
    )


@post("/console/sweep", name="console.sweep", guards=[operator], status_code=200)
async def sweep(desk: NamedDependency[Desk]) -> Response[Any]:
    return await desk.act(_sweep(desk.agent))


async def _sweep(agent: Stub) -> str:
    if why := (await agent.call("sweep"))["error"]:
        raise Unavailable(f"The sweep saw nothing: {why}")
    return "The sweep is done. The report says what it found."


routes = Router(
    "/",
    route_handlers=[index, panels, verdicts, approve, reject, ask_again, halt, resume, sweep],
    guards=[console],
    dependencies={"desk": Provide(desk)},
    include_in_schema=False,
)
