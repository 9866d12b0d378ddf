"""The life of a ticket. Each verb's rule is one UPDATE whose returned row is the verdict; its event follows.

`version` rises with what a decision to close rests on: status, title, protection, public comments of people, and an
edit that makes the ticket exempt under the policy.
Activity rises with public comments of people and with reopening.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NoReturn, cast

from msgspec import UNSET, UnsetType, json, structs
from sqlalchemy import (
    ColumnElement,
    Table,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session

from app.domain import Conflict, Invalid, NotFound, OperationId, Speaker, Status, plain
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from app.schemas import AddComment, CommentOut, CreateTicket, EditTicket, Preview, TicketDetail, TicketOut
from app.services import events
from app.services.checked import instant
from app.services.ticket_list import COLUMNS, labels, ticket_out, tickets
from config.triage import POLICY
from db.schema import ApprovalRow, CommentRow

approvals = cast("Table", ApprovalRow.__table__)
comments = cast("Table", CommentRow.__table__)

ONE = select(*COLUMNS, tickets.c.body).where(tickets.c.id == bindparam("ticket_id"))


def head(session: Session, ticket_id: int) -> tuple[TicketOut, str]:
    """The ticket, and its body."""
    row = session.execute(ONE, {"ticket_id": ticket_id}).one_or_none()
    if row is None:
        raise _absent(ticket_id)
    return ticket_out(row[:-1]), row.body


def show(session: Session, ticket_id: int) -> TicketDetail:
    ticket, body = head(session, ticket_id)
    columns = [comments.c[name] for name in CommentOut.__struct_fields__]
    said = session.execute(select(*columns).where(comments.c.ticket_id == ticket_id).order_by(comments.c.id))
    return TicketDetail(ticket=ticket, body=body, comments=[CommentOut(*one) for one in said])


def create(session: Session, data: CreateTicket, *, by: Principal, now: datetime) -> TicketOut:
    created_at = instant("created_at", data.created_at or to_text(now))
    if created_at > to_text(now):
        raise Invalid("created_at is in the future. Nothing was created. Leave it out, or name a time that has passed.")
    values = {name: value for name, value in structs.asdict(data).items() if name not in ("labels", "created_at")}
    values |= dict.fromkeys(("created_at", "updated_at", "last_activity_at"), created_at)
    values["last_speaker"] = Speaker.REQUESTER if data.requester else Speaker.NONE
    ticket = ticket_out(session.execute(insert(tickets).values(values).returning(*COLUMNS)).one())
    ticket.labels = _label(session, ticket.id, data.labels)
    _record(session, ticket.id, "created", by, now, {"title": data.title})
    return ticket


def edit(
    session: Session,
    ticket_id: int,
    data: EditTicket,
    *,
    by: Principal,
    now: datetime,
    was: Mapping[str, Any] | None = None,
) -> TicketOut:
    """Change the fields that are set. Refused when `data.version` is set and the ticket has moved.

    `was` is what the editor saw in these fields: refused when one is otherwise by now. The history tells it.
    """
    given = {name: value for name, value in structs.asdict(data).items() if value is not UNSET and name != "version"}
    if not given:
        raise Invalid("The edit names no field. Nothing was changed. Name what should change.")
    if given.get("protected_until"):
        instant("protected_until", given["protected_until"])
    values = {name: value for name, value in given.items() if name != "labels"}
    if weighty := list(_weighty(given)):
        values["version"] = tickets.c.version + case((or_(*weighty), 1), else_=0)
    still = [_is_still(name, value) for name, value in (was or {}).items()]
    ticket = _change(session, ticket_id, *_seen_at(data.version), *still, updated_at=to_text(now), **values)
    if ticket is None:
        _refuse(ticket_id, _look(session, ticket_id))
    if "labels" in given:
        ticket.labels = _label(session, ticket_id, given["labels"])
        others = labels.c.label.not_in(ticket.labels)  # they go last: a label may protect, and a crash part the two
        session.execute(delete(labels).where(labels.c.ticket_id == ticket_id, others))
    _record(session, ticket_id, "edited", by, now, given | ({"was": dict(was)} if was else {}))
    return ticket


def _is_still(name: str, value: Any) -> ColumnElement[bool]:
    if name != "labels":
        return tickets.c[name].is_not_distinct_from(value)
    own = select(func.count()).select_from(labels).where(labels.c.ticket_id == tickets.c.id)
    seen = func.json_each(json.encode(value).decode()).table_valued("value").c.value
    same = own.where(labels.c.label.in_(select(seen)))
    return and_(own.scalar_subquery() == len(value), same.scalar_subquery() == len(value))


def _weighty(given: dict[str, Any]) -> Iterator[ColumnElement[bool]]:
    """For each part of an edit on which a decision may rest: whether the ticket was otherwise before."""
    for name in ("title", "protected_until"):
        if name in given:
            yield tickets.c[name].is_distinct_from(given[name])
    for name, exempt in (("assignee", "exempt_assignees"), ("priority", "exempt_priorities")):
        if given.get(name) in POLICY[exempt]:
            yield tickets.c[name].is_distinct_from(given[name])
    for label in set(POLICY["exempt_labels"]).intersection(given.get("labels", ())):
        yield ~exists().where(labels.c.ticket_id == tickets.c.id, labels.c.label == label)


def comment(session: Session, ticket_id: int, data: AddComment, *, by: Principal, now: datetime) -> CommentOut:
    """Public words of people move the ticket; internal notes and what agents say do not."""
    if data.speaker == "requester" and not data.public:
        raise Invalid("A comment is an operator's, or the requester's and public. Nothing was added.")
    kind = data.speaker if by.kind == "operator" else "agent"
    at = to_text(now)
    moves = {"version": tickets.c.version + 1, "last_activity_at": at, "last_speaker": kind}
    # The ticket first: it is what protects it from being closed meanwhile, and a crash may part the two.
    ticket = _change(session, ticket_id, updated_at=at, **(moves if data.public and kind != "agent" else {}))
    if ticket is None:
        raise _absent(ticket_id)
    name = by.name if data.speaker == "operator" else ticket.requester or "requester"
    said: dict[str, Any] = {
        "author_kind": kind,
        "author_name": name,
        "body": data.body,
        "created_at": at,
        "public": data.public,
    }
    row = insert(comments).values(ticket_id=ticket_id, **said).returning(comments.c.id)
    comment_id = session.execute(row).scalar_one()
    _record(session, ticket_id, "commented", by, now, {"comment_id": comment_id, "by": kind, "public": data.public})
    return CommentOut(id=comment_id, **said)


def preview_close(session: Session, ticket_id: int, version: int) -> Preview:
    """What `close` would do, or its refusal."""
    found = _seen_open(session, ticket_id, version)
    return Preview(
        summary=f'Closes ticket {ticket_id}, "{plain(found.title)}".',
        before={"status": found.status, "version": version},
        after={"status": Status.CLOSED, "version": version + 1},
    )


def close(
    session: Session,
    ticket_id: int,
    version: int,
    *,
    by: Principal,
    now: datetime,
    operation: OperationId | None = None,
) -> TicketOut:
    """Close an open ticket seen at this version."""
    closed = {"status": Status.CLOSED.value, "closed_at": to_text(now), "closed_by": by.name}
    return _change_once(session, ticket_id, version, "closed", by, now, operation, **closed)


def reopen(
    session: Session,
    ticket_id: int,
    version: int | UnsetType = UNSET,
    *,
    by: Principal,
    now: datetime,
    undoes: str | None = None,
) -> TicketOut:
    """Counts as activity: what was reopened is not stale. Refused when `version` is set and the ticket has moved.

    `undoes`: the request under which it was closed, if this takes that back.
    """
    at = to_text(now)
    ticket = _change(
        session,
        ticket_id,
        tickets.c.status == Status.CLOSED.value,
        *_seen_at(version),
        status=Status.OPEN.value,
        version=tickets.c.version + 1,
        updated_at=at,
        last_activity_at=at,
        closed_at=None,
        closed_by=None,
    )
    if ticket is None:
        _refuse(ticket_id, _look(session, ticket_id), must_be=Status.CLOSED)
    _record(session, ticket_id, "reopened", by, now, {"version": ticket.version}, undoes)
    return ticket


def _change_once(
    session: Session,
    ticket_id: int,
    version: int,
    kind: str,
    by: Principal,
    now: datetime,
    operation: OperationId | None,
    **values: Any,
) -> TicketOut:
    """Change an open ticket seen at this version. `kind` is the event's.

    With an operation, only while that approval is spent and unended: the same statement ends it as used and writes
    the event (a trigger on `changed_by_request` does), so no crash can part them.
    """
    conditions = [tickets.c.status == Status.OPEN.value, tickets.c.version == version]
    if operation:
        conditions.append(_spends(operation, ticket_id))
    values |= {"version": version + 1, "updated_at": to_text(now), "changed_by_request": operation}
    ticket = _change(session, ticket_id, *conditions, **values)
    if ticket is None and operation:
        raise Conflict(f"Ticket {ticket_id} or its approval changed since it was asked. Nothing was changed.")
    if ticket is None:
        _refuse(ticket_id, _look(session, ticket_id), must_be=Status.OPEN)
    if not operation:
        _record(session, ticket_id, kind, by, now, {"version": ticket.version})
    return ticket


def _change(session: Session, ticket_id: int, *conditions: ColumnElement[bool], **values: Any) -> TicketOut | None:
    """The ticket after the change; None when there is none of which the conditions hold."""
    changed = update(tickets).where(tickets.c.id == ticket_id, *conditions).values(values).returning(*COLUMNS)
    row = session.execute(changed).one_or_none()
    return None if row is None else ticket_out(row)


def _seen_at(version: int | UnsetType) -> list[ColumnElement[bool]]:
    return [] if version is UNSET else [tickets.c.version == version]


def _spends(operation: OperationId, ticket_id: int) -> ColumnElement[bool]:
    return exists().where(
        approvals.c.id == operation,
        approvals.c.subject == _subject(ticket_id),
        approvals.c.claim_id.is_not(None),
        approvals.c.ended.is_(None),
    )


def _seen_open(session: Session, ticket_id: int, version: int) -> Any:
    """What a preview tells of an open ticket that was seen at this version."""
    found = _look(session, ticket_id, "title", "assignee")
    if found is None or found.status != Status.OPEN or found.version != version:
        _refuse(ticket_id, found, must_be=Status.OPEN)
    return found


def _look(session: Session, ticket_id: int, *more: str) -> Any:
    """The status and version it has now, and more columns of it; None when there is none."""
    columns = (tickets.c[name] for name in ("status", "version", *more))
    return session.execute(select(*columns).where(tickets.c.id == ticket_id)).one_or_none()


def _refuse(ticket_id: int, found: Any, *, must_be: Status | None = None) -> NoReturn:
    if found is None:
        raise _absent(ticket_id)
    if must_be and found.status != must_be:
        why = f"is {found.status}, at version {found.version}"
    else:
        why = f"is at version {found.version}, and not as you saw it"
    raise Conflict(f"Ticket {ticket_id} {why}. Nothing was changed. See: GET /tickets/{ticket_id}", found.status)


def _absent(ticket_id: int) -> NotFound:
    return NotFound(f"There is no ticket {ticket_id}. Nothing was changed. List them with: GET /tickets")


def _label(session: Session, ticket_id: int, names: list[str]) -> list[str]:
    """The labels the ticket has now."""
    distinct = sorted(set(names))
    if distinct:
        each = func.json_each(json.encode(distinct).decode()).table_valued("value").c.value
        added = insert(labels).prefix_with("OR IGNORE")
        session.execute(added.from_select(["ticket_id", "label"], select(literal(ticket_id), each)))
    return distinct


def _subject(ticket_id: int) -> str:
    return f"ticket:{ticket_id}"


def _record(
    session: Session,
    ticket_id: int,
    kind: str,
    by: Principal,
    now: datetime,
    data: dict[str, Any],
    request_id: str | None = None,
) -> None:
    subject = _subject(ticket_id)
    events.record(session, subject=subject, kind=kind, by=by, now=now, request_id=request_id, data=data)
