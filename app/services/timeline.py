"""What happened to a ticket: comments, changes, asks, answers and outcomes in one order, the newest first.

Comments and events are rows of their own; an ask is its approval row, and so is an end that no event tells of. One
statement, which reads as many of each as a page holds.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, json
from sqlalchemy import Row, text
from sqlalchemy.orm import Session

from app.domain import Invalid
from app.runtime.instants import to_text
from app.runtime.principal import agent_of
from app.schemas import INSTANT_TEXT

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


# What the person or token behind a principal key is called; null for an agent, and for whoever is gone.
NAME = """
CASE substr({0}, 1, instr({0}, ':'))
  WHEN 'operator:' THEN (SELECT name FROM users WHERE id = CAST(substr({0}, 10) AS INTEGER))
  WHEN 'token:' THEN (SELECT 'token ' || name FROM api_tokens WHERE id = substr({0}, 7)) END
"""
DEADLINE = "coalesce(use_by, expires_at)"
# Of what happened in one instant, the key has what led to the other first: asks, comments, events, ends.
PARTS = (
    """
SELECT created_at AS at, 'c' || printf('%016d', id) AS key, 'comment' AS kind, author_kind AS actor,
  author_name AS name, iif(id = :whole, body, substr(body, 1, :cut)) AS text, NULL AS request, NULL AS data,
  id AS number, length(body) AS size, public AS flag
FROM comments WHERE ticket_id = :ticket_id
""",
    f"""
SELECT at, 'e' || printf('%016d', id), kind, actor, {NAME.format("actor")}, NULL, request_id,
  json_replace(data, '$.body', ''), NULL, NULL, NULL
FROM events WHERE subject = :subject AND kind <> 'commented'
""",  # noqa: S608 (constant text)
    f"""
SELECT requested_at, 'a' || id, 'asked', principal_key, {NAME.format("principal_key")}, because, id,
  json_object('tool', tool, 'summary', json_extract(preview, '$.summary')), NULL, NULL, NULL
FROM approvals WHERE subject = :subject
""",  # noqa: S608 (constant text)
    f"""
SELECT coalesce(ended_at, {DEADLINE}), 'x' || id, coalesce(ended, 'expired'), '', NULL, ended_reason, id,
  NULL, NULL, NULL, decision IS NOT NULL
FROM approvals WHERE subject = :subject AND (
  ended IN ('expired', 'unknown') OR (ended IS NULL AND claim_id IS NULL AND {DEADLINE} <= :now)
  OR (ended = 'cancelled' AND ended_reason NOT IN ('undone', 'restored') AND ended_reason NOT LIKE 'withdrawn: %'))
""",  # noqa: S608 (constant text)
)
NEWEST = "ORDER BY at DESC, key DESC LIMIT :rows"
COLUMNS = "at, key, kind, actor, name, text, request, data, number, size, flag"
PAGE_OF = "SELECT * FROM (WITH part({}) AS ({}) SELECT * FROM part WHERE at <= :at AND (at < :at OR key < :key) {})"
TIMELINE = text(f"{' UNION ALL '.join(PAGE_OF.format(COLUMNS, part, NEWEST) for part in PARTS)} {NEWEST}")
START = ("9999", "z")  # later than all


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
    at, key = _place(before) if before else START
    given = {"at": at, "key": key, "rows": limit + 1, "now": to_text(now), "whole": whole, "cut": CUT}
    given |= {"ticket_id": ticket_id, "subject": f"ticket:{ticket_id}"}
    rows = session.execute(TIMELINE, given).all()
    older = f"{rows[limit - 1].at}_{rows[limit - 1].key}" if len(rows) > limit else None
    return Timeline([_entry(row) for row in rows[:limit]], older)


def _place(before: str) -> tuple[str, str]:
    if found := PLACE.fullmatch(before):
        return found[1], found[2]
    raise Invalid("That is no place in this history. Nothing was changed. Open the ticket anew.")


def _entry(row: Row[Any]) -> Entry:
    data: dict[str, Any] = json.decode(row.data) if row.data else {}
    words = row.text or data.get("reason") or ""
    common = {"at": row.at, "kind": row.kind, "by": _by(row), "text": words, "request_id": row.request}
    if row.kind == "comment":
        return Entry(
            **common, did="", comment=row.number, speaker=row.actor, public=bool(row.flag), cut=row.size > len(words)
        )
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
