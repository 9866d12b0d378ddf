"""The questions to people, and their answers. None of these routes is a tool: an agent cannot answer itself."""

from datetime import datetime
from typing import Annotated

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter

from app.auth import operator, person
from app.domain import Invalid
from app.schemas import (
    NO_NUL,
    PLACE,
    SEARCH_MAX,
    Answer,
    Answered,
    ApprovalOut,
    ApprovalPage,
    Decide,
    Prune,
    Pruned,
    Reject,
    Tab,
)
from app.services import approvals
from app.services.approval_list import queue
from db.engine import Database
from routes.answers import Answers


@get("/approvals", name="approvals.index", budget=3, guards=[person])
async def list_approvals(
    db: NamedDependency[Database],
    now: NamedDependency[datetime],
    tab: Annotated[Tab | None, QueryParameter(description="Only these, in pages of twenty.")] = None,
    search: Annotated[
        str | None,
        QueryParameter(
            max_length=SEARCH_MAX,
            pattern=NO_NUL,
            description="A ticket's number, or words of the sentence that was asked.",
        ),
    ] = None,
    after: Annotated[
        str | None, QueryParameter(pattern=PLACE, description="The `next` of the page before, in the same tab.")
    ] = None,
) -> ApprovalPage:
    """What waits for an answer, and what was answered lately; or a page of one tab."""
    if tab is None and (search or after):
        raise Invalid("search and after are for a tab, and none is named. Nothing was executed. Add tab=waiting.")
    if tab is None:
        return await db.read(approvals.listing, now)
    page = await db.read(queue, tab, now, search=search, after=after)
    return ApprovalPage(requests=page.cards, next=page.next)


@post("/approvals/{request_id:str}/approve", name="approvals.approve", budget=3, guards=[operator], status_code=200)
async def approve(request_id: FromPath[str], data: JSONBody[Decide], answers: NamedDependency[Answers]) -> ApprovalOut:
    """Say yes to one call; it is carried out at once."""
    return await answers.approve(request_id, data.reason, fingerprint=data.fingerprint)


@post("/approvals/{request_id:str}/reject", name="approvals.reject", budget=3, guards=[operator], status_code=200)
async def reject(request_id: FromPath[str], data: JSONBody[Reject], answers: NamedDependency[Answers]) -> ApprovalOut:
    """Say no to one call."""
    return await answers.reject(
        request_id,
        data.reason,
        data.until_at,
        until_window_ends=data.until_window_ends,
        fingerprint=data.fingerprint,
    )


@post("/approvals/answer", name="approvals.answer", budget=3, guards=[operator], status_code=200)
async def answer(data: JSONBody[Answer], answers: NamedDependency[Answers]) -> Answered:
    """Say one thing to up to fifty calls: to each that can be answered, and still is what was shown."""
    seen = [(one.id, one.fingerprint) for one in data.requests]
    return Answered(
        await answers.many(data.decision, seen, data.reason, data.until_at, until_window_ends=data.until_window_ends)
    )


@post("/approvals/{request_id:str}/ask-again", name="approvals.ask_again", budget=3, guards=[operator], status_code=200)
async def ask_again(request_id: FromPath[str], answers: NamedDependency[Answers]) -> ApprovalOut:
    """Take back a no: the agent may ask again."""
    return await answers.ask_again(request_id)


@post("/approvals/{request_id:str}/undo", name="approvals.undo", budget=5, guards=[operator], status_code=200)
async def undo(request_id: FromPath[str], answers: NamedDependency[Answers]) -> ApprovalOut:
    """Take an answer back: an unspent yes is cancelled, a ticket closed under one reopened, a no forgotten."""
    return await answers.undo(request_id)


@post("/approvals/prune", name="approvals.prune", budget=2, guards=[operator], status_code=200)
async def prune(data: JSONBody[Prune], db: NamedDependency[Database], now: NamedDependency[datetime]) -> Pruned:
    """Delete the requests that ended that long ago, and none that stands as a no."""
    return await db.write(approvals.prune, data.older_than_days, now)


routes = (list_approvals, approve, reject, answer, ask_again, undo, prune)
