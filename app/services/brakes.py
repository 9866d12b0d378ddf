"""Halting agents, and letting them go on. A brake is a row that others' statements read: see HALTED."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, select, text
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import Session

from app.domain import NotFound
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from app.runtime.tools.brakes import ALL, Brake
from app.schemas import BrakesOut
from app.services import events
from db.schema import BrakeRow

# Does a brake hold the row's `principal_key`? Names hold `_`, so this is no LIKE.
HOLDS = "(agent = '*' OR substr(principal_key, 1, length(agent) + 7) = 'agent:' || agent || ':')"
HALTED = f"EXISTS (SELECT 1 FROM brakes WHERE {HOLDS})"  # noqa: S608 (constant text)
HOLDING = f"""
SELECT agent, "by", at, note FROM (SELECT :principal_key AS principal_key), brakes WHERE {HOLDS} ORDER BY agent LIMIT 1
"""  # noqa: S608 (constant text)
# Every turn of an agent reads them: a plain table spares it the ORM's half of the cost.
BRAKE = BrakeRow.__table__.c
COLUMNS = (BRAKE.agent, BRAKE.by, BRAKE.at, BRAKE.note)
LISTING = select(*COLUMNS).order_by(BRAKE.agent)


def halt(
    session: Session, agent: str | None, known: Collection[str], *, by: Principal, now: datetime, note: str | None
) -> BrakesOut:
    """Halt an agent; None means every caller of tools. What is halted keeps its first brake. Raises NotFound."""
    if agent is not None and agent not in known:
        raise NotFound(f'No agent is named "{agent}". Nothing was halted. There are: {", ".join(sorted(known))}.')
    row = {"agent": agent or ALL, "by": by.name, "at": to_text(now), "note": note or None}
    won = session.execute(insert(BrakeRow).values(row).on_conflict_do_nothing().returning(BrakeRow.agent)).first()
    return _changed(session, "halted", agent, changed=won is not None, by=by, now=now, note=note)


def resume(session: Session, agent: str | None, known: Collection[str], *, by: Principal, now: datetime) -> BrakesOut:
    """Let an agent go on; None takes back the brake on all, and leaves those on single agents. Raises NotFound."""
    released = session.execute(delete(BrakeRow).where(BrakeRow.agent == (agent or ALL)).returning(BrakeRow.agent))
    changed = released.first() is not None
    if not (changed or agent is None or agent in known):
        raise NotFound(f'No agent is named "{agent}". Nothing was resumed. There are: {", ".join(sorted(known))}.')
    return _changed(session, "resumed", agent, changed=changed, by=by, now=now)


def listing(session: Session) -> list[Brake]:
    return [Brake(*row) for row in session.execute(LISTING)]


def holding(session: Session, principal_key: str) -> Brake | None:
    """The brake that holds this caller, if one does."""
    row = session.execute(text(HOLDING), {"principal_key": principal_key}).first()
    return Brake(*row) if row else None


def _changed(
    session: Session,
    kind: str,
    agent: str | None,
    *,
    changed: bool,
    by: Principal,
    now: datetime,
    note: str | None = None,
) -> BrakesOut:
    if changed:
        subject = f"agent:{agent}" if agent else "agents"
        events.record(session, subject=subject, kind=kind, by=by, now=now, data={"note": note} if note else None)
    return BrakesOut(changed, listing(session))
