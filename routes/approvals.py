"""The questions to people, and their answers. None of these routes is a tool: an agent cannot answer itself."""

from datetime import datetime

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from app.auth import operator, person
from app.schemas import ApprovalOut, ApprovalPage, Decide, Prune, Pruned, Reject
from app.services import approvals
from db.engine import Database
from routes.answers import Answers


@get("/approvals", name="approvals.index", guards=[person])
async def list_approvals(db: NamedDependency[Database], now: NamedDependency[datetime]) -> ApprovalPage:
    """What waits for an answer, and what was answered lately."""
    return await db.read(approvals.listing, now)


@post("/approvals/{request_id:str}/approve", name="approvals.approve", guards=[operator], status_code=200)
async def approve(request_id: FromPath[str], data: JSONBody[Decide], answers: NamedDependency[Answers]) -> ApprovalOut:
    """Say yes to one call; it is carried out at once."""
    return await answers.approve(request_id, data.reason)


@post("/approvals/{request_id:str}/reject", name="approvals.reject", guards=[operator], status_code=200)
async def reject(request_id: FromPath[str], data: JSONBody[Reject], answers: NamedDependency[Answers]) -> ApprovalOut:
    """Say no to one call."""
    return await answers.reject(request_id, data.reason, data.until_at, until_window_ends=data.until_window_ends)


@post("/approvals/{request_id:str}/ask-again", name="approvals.ask_again", guards=[operator], status_code=200)
async def ask_again(request_id: FromPath[str], answers: NamedDependency[Answers]) -> ApprovalOut:
    """Take back a no: the agent may ask again."""
    return await answers.ask_again(request_id)


@post("/approvals/prune", name="approvals.prune", guards=[operator], status_code=200)
async def prune(data: JSONBody[Prune], db: NamedDependency[Database], now: NamedDependency[datetime]) -> Pruned:
    """Delete the requests that ended that long ago, and none that stands as a no."""
    return await db.write(approvals.prune, data.older_than_days, now)


routes = (list_approvals, approve, reject, ask_again, prune)
