"""The inbox: every request to a person, and the person's answers."""

from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any, Literal

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, URLEncodedBody
from msgspec import Struct
from sqlalchemy.orm import Session

from app.auth import operator
from app.domain import Invalid
from app.runtime.instants import to_text
from app.schemas import ApprovalOut, Reason
from app.services import approvals, brakes
from routes.answers import Answers
from routes.console.desk import Desk
from routes.notices import standing


class Answer(Struct):
    reason: Reason = ""


class No(Answer):
    """How long it is remembered: `date` is a day, where `until` says so, and otherwise empty."""

    until: Literal["always", "window", "date"] = "always"
    date: str = ""


async def _page(desk: Desk, notice: str | None = None, status: int = 200) -> Response[str]:
    return await desk.show(
        "inbox.html", approvals=await desk.db.read(approvals.listing, desk.now), notice=notice, status=status
    )


@get("/", name="console.index")
async def index(desk: NamedDependency[Desk], done: FromQuery[str | None] = None) -> Response[str]:
    return await _page(desk, await desk.db.read(_standing, done, desk.now) if done else None)


def _standing(session: Session, request_id: str, now: datetime) -> str | None:
    request = approvals.find(session, request_id, now)
    return standing(request, brakes.holding(session, request.principal)) if request else None


@post("/console/approvals/{request_id:str}/approve", name="console.approve", guards=[operator], status_code=200)
async def approve(
    request_id: FromPath[str],
    data: URLEncodedBody[Answer],
    desk: NamedDependency[Desk],
    answers: NamedDependency[Answers],
) -> Response[Any]:
    return await desk.act(answers.approve(request_id, data.reason), then=_done, on=partial(_page, desk))


@post("/console/approvals/{request_id:str}/reject", name="console.reject", guards=[operator], status_code=200)
async def reject(
    request_id: FromPath[str],
    data: URLEncodedBody[No],
    desk: NamedDependency[Desk],
    answers: NamedDependency[Answers],
) -> Response[Any]:
    return await desk.act(_reject(answers, request_id, data, desk.now), then=_done, on=partial(_page, desk))


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
    return await desk.act(answers.ask_again(request_id), then=_done, on=partial(_page, desk))


def _done(answered: ApprovalOut) -> str:
    """The page finds anew how the request stands: a link that says what happened could say what did not."""
    return f"/?done={answered.id}"


routes = (index, approve, reject, ask_again)
