"""What happened to a ticket: comments, changes, asks, answers and outcomes in one order, the newest first.

Comments and events are rows of their own; an ask is its approval row, and so is an end that no event tells of. One
statement, which reads as many of each as a page holds.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from msgspec import Struct, json
from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    Row,
    Select,
    Table,
    and_,
    case,
    func,
    literal,
    null,
    or_,
    select,
    union_all,
)
from sqlalchemy import cast as as_type
from sqlalchemy.orm import Session

from app.domain import Invalid
from app.runtime.instants import to_text
from app.runtime.principal import agent_of
from app.schemas import INSTANT_TEXT
from db.schema import ApprovalRow, CommentRow, EventRow, TokenRow, UserRow

comments, events, approvals, users, tokens = (
    cast("Table", row.__table__) for row in (CommentRow, EventRow, ApprovalRow, UserRow, TokenRow)
)

PAGE = 100  # entries
CUT = 2_000  # characters of a comment; all of it is shown when asked for
PLACE = re.compile(rf"({INSTANT_TEXT})_([acex][0-9A-Za-z-]{{1,64}})")
FIELDS = {"protected_until": "protected until", "last_activity_at": "last activity", "body": "text"}  # for people

DID = {
    "created": "opened the ticket",
    "edited": "changed",
    "closed": "closed the ticket",
    "reopened": "reopened the ticket",
    "imported": "imported the ticket",
    "approved": "said yes",
    "rejected": "said no",
    "ask again": "took back the no; the same may be asked again",
    "taken back": "took back the yes",
    "withdrawn": "took the request back",
    "cancelled": "cancelled the request",
}
ASKED = {"tickets_close": "asked to close the ticket"}
ENDED = {
    ("expired", False): "Nobody answered the request in time",
    ("expired", True): "The yes was not used in time",
    ("cancelled", False): "The request ended unanswered",
    ("cancelled", True): "The yes was not carried out",
    ("unknown", True): "What was approved may have been carried out, or not: it needs a look",
}


class Change(Struct, frozen=True):
    """Of one field; `was` is empty where it is not known, and both where there was or is nothing."""

    field: str
    was: str
    now: str


class Entry(Struct, frozen=True, kw_only=True):
    """`by` is readable, and empty where nobody did it. `comment` is the id of one; its `text` may be cut."""

    at: str
    kind: str  # comment, or the word of the event, or asked, expired, cancelled, unknown
    by: str
    did: str
    text: str = ""
    request_id: str | None = None
    changes: Sequence[Change] = ()
    comment: int | None = None
    speaker: str = ""
    public: bool = True
    cut: bool = False


class Timeline(Struct, frozen=True):
    """`older` is the `before` of the page that follows."""

    entries: list[Entry]
    older: str | None


def timeline(
    session: Session, ticket_id: int, now: datetime, *, before: str | None = None, whole: int = 0, limit: int = PAGE
) -> Timeline:
    """`whole` is the comment whose text is not cut."""
    place = _place(before) if before else None
    parts = [part.subquery() for part in _parts(ticket_id, to_text(now), whole)]
    pages = [_page(part, place, limit + 1).subquery() for part in parts]
    joined = union_all(*(select(page) for page in pages)).subquery()
    rows = session.execute(_page(joined, None, limit + 1)).all()
    older = f"{rows[limit - 1].at}_{rows[limit - 1].key}" if len(rows) > limit else None
    return Timeline([_entry(row) for row in rows[:limit]], older)


def _place(before: str) -> tuple[str, str]:
    if found := PLACE.fullmatch(before):
        return found[1], found[2]
    raise Invalid("That is no place in this history. Nothing was changed. Open the ticket anew.")


def _page(part: FromClause, place: tuple[str, str] | None, rows: int) -> Select[Any]:
    """The newest; of what happened in one instant, what led to the other comes first in time (see the keys)."""
    at, key = part.c.at, part.c.key
    older = or_(at < place[0], and_(at == place[0], key < place[1])) if place else None
    page = select(part).order_by(at.desc(), key.desc()).limit(rows)
    return page if older is None else page.where(at <= cast("tuple[str, str]", place)[0], older)


def _parts(ticket_id: int, at: str, whole: int) -> list[Select[Any]]:
    body, own = comments.c.body, comments.c.ticket_id == ticket_id
    shown = case((comments.c.id == whole, body), else_=func.substr(body, 1, CUT))
    subject = f"ticket:{ticket_id}"
    answered = approvals.c.decision.is_not(None)
    deadline = func.coalesce(approvals.c.use_by, approvals.c.expires_at)
    told = or_(approvals.c.ended_reason.in_(("undone", "restored")), approvals.c.ended_reason.like("withdrawn: %"))
    ended = or_(
        approvals.c.ended.in_(("expired", "unknown")),
        and_(approvals.c.ended == "cancelled", ~func.coalesce(told, False)),
        and_(approvals.c.ended.is_(None), approvals.c.claim_id.is_(None), deadline <= at),
    )
    return [
        _part(
            comments.c.created_at,
            _numbered("c", comments.c.id),
            "comment",
            comments.c.author_kind,
            name=comments.c.author_name,
            text=shown,
            number=comments.c.id,
            size=func.length(body),
            flag=comments.c.public,
        ).where(own),
        _part(
            events.c.at,
            _numbered("e", events.c.id),
            events.c.kind,
            events.c.actor,
            name=_name(events.c.actor),
            request=events.c.request_id,
            data=func.json_replace(events.c.data, "$.body", ""),
        ).where(events.c.subject == subject, events.c.kind != "commented"),
        _part(
            approvals.c.requested_at,
            literal("a").concat(approvals.c.id),
            "asked",
            approvals.c.principal_key,
            name=_name(approvals.c.principal_key),
            request=approvals.c.id,
            text=approvals.c.because,
            data=func.json_object(
                "tool", approvals.c.tool, "summary", func.json_extract(approvals.c.preview, "$.summary")
            ),
        ).where(approvals.c.subject == subject),
        _part(
            func.coalesce(approvals.c.ended_at, deadline),
            literal("x").concat(approvals.c.id),
            func.coalesce(approvals.c.ended, "expired"),
            "",
            request=approvals.c.id,
            text=approvals.c.ended_reason,
            flag=answered,
        ).where(approvals.c.subject == subject, ended),
    ]


def _part(at: ColumnElement[str], key: ColumnElement[str], kind: Any, actor: Any, **more: Any) -> Select[Any]:
    columns = {"at": at, "key": key, "kind": kind, "actor": actor}
    columns |= dict.fromkeys(("name", "text", "request", "data", "number", "size", "flag"), null()) | more
    return select(
        *(
            value.label(name) if hasattr(value, "label") else literal(value).label(name)
            for name, value in columns.items()
        )
    )


def _numbered(letter: str, number: ColumnElement[int]) -> ColumnElement[str]:
    """Text that is ordered as the numbers are."""
    return literal(letter).concat(func.printf("%016d", number))


def _name(key: ColumnElement[str]) -> ColumnElement[Any]:
    """What the person or token behind a principal key is called; null for an agent, and for whoever is gone."""
    user = select(users.c.name).where(users.c.id == as_type(func.substr(key, len("operator:") + 1), Integer))
    token = select(tokens.c.name).where(tokens.c.id == func.substr(key, len("token:") + 1))
    return case(
        (key.startswith("operator:"), user.scalar_subquery()),
        (key.startswith("token:"), literal("token ").concat(token.scalar_subquery())),
    )


def _entry(row: Row[Any]) -> Entry:
    data: dict[str, Any] = json.decode(row.data) if row.data else {}
    text = row.text or data.get("reason") or data.get("note") or ""
    common = {"at": row.at, "kind": row.kind, "by": _by(row), "text": text, "request_id": row.request}
    if row.kind == "comment":
        return Entry(**common, did="", comment=row.number, speaker=row.actor, public=row.flag, cut=row.size > len(text))
    if row.key.startswith("a"):
        return Entry(**common, did=ASKED.get(data["tool"], f"asked: {data['summary']}"))
    if row.key.startswith("x"):
        return Entry(**common, did=ENDED.get((row.kind, bool(row.flag)), f"The request is {row.kind}"))
    known = DID.get(row.kind)
    changes = _changes(data) if row.kind == "edited" or not known else []
    return Entry(**common, did=known or row.kind, changes=changes)


def _by(row: Row[Any]) -> str:
    agent = agent_of(row.actor)
    return row.name or ("/".join(agent) if agent else row.actor)


def _changes(data: dict[str, Any]) -> list[Change]:
    was = data.get("was", {})
    fields = (name for name in data if name not in ("was", "version", "reason"))
    return [change(name, was.get(name), data[name]) for name in fields]


def change(name: str, was: Any, now: Any) -> Change:
    return Change(FIELDS.get(name, name), _said(was), _said(now))


def _said(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value or "")
