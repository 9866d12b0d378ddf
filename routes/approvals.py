"""The questions to people, and their answers. None of these routes is a tool: an agent cannot answer itself."""

from datetime import datetime

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from app.auth import operator
from app.runtime.durable.host import Host
from app.runtime.principal import Principal
from app.schemas import ApprovalOut, ApprovalPage, Decide, Prune, Pruned, Reject
from app.services import approvals
from config.settings import Settings
from db.engine import Database


@get("/approvals", name="approvals.index", guards=[operator])
async def list_approvals(db: NamedDependency[Database], now: NamedDependency[datetime]) -> ApprovalPage:
    return await db.read(approvals.listing, now)


@post("/approvals/{request_id:str}/approve", name="approvals.approve", guards=[operator], status_code=200)
async def approve(
    request_id: FromPath[str],
    data: JSONBody[Decide],
    db: NamedDependency[Database],
    by: NamedDependency[Principal],
    now: NamedDependency[datetime],
    host: NamedDependency[Host],
    settings: NamedDependency[Settings],
) -> ApprovalOut:
    use_ttl_s = settings.approval_use_ttl_s
    answered = await db.write(approvals.approve, request_id, by=by, now=now, reason=data.reason, use_ttl_s=use_ttl_s)
    host.wake([(answered.principal, answered.id)])
    return answered


@post("/approvals/{request_id:str}/reject", name="approvals.reject", guards=[operator], status_code=200)
async def reject(
    request_id: FromPath[str],
    data: JSONBody[Reject],
    db: NamedDependency[Database],
    by: NamedDependency[Principal],
    now: NamedDependency[datetime],
    host: NamedDependency[Host],
) -> ApprovalOut:
    answered = await db.write(approvals.reject, request_id, by=by, now=now, reason=data.reason, until_at=data.until_at)
    host.wake([(answered.principal, answered.id)])
    return answered


@post("/approvals/prune", name="approvals.prune", guards=[operator], status_code=200)
async def prune(data: JSONBody[Prune], db: NamedDependency[Database], now: NamedDependency[datetime]) -> Pruned:
    return await db.write(approvals.prune, data.older_than_days, now)


routes = (list_approvals, approve, reject, prune)
