"""What an agent has asked of people, for its page: who waits, which no still stands, what became of which call."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.runtime.instants import to_text
from app.services.approval_gate import STANDS

DECLINED_MAX = 6
REQUESTS = f"""
SELECT approvals.id, subject, title, expires_at, decision, decided_by, reason, until_at, {STANDS} AS stands
FROM approvals LEFT JOIN tickets ON subject LIKE 'ticket:%' AND tickets.id = CAST(substr(subject, 8) AS INTEGER)
WHERE approvals.id IN (SELECT value FROM json_each(:ids)) OR approvals.id IN (
  SELECT id FROM approvals INDEXED BY approvals_remembered
  WHERE principal_key = :key AND {STANDS} ORDER BY requested_at DESC LIMIT :most)
ORDER BY requested_at DESC
"""  # noqa: S608 (constant text)


class Asked(Struct, frozen=True):
    """One request. `title` is its ticket's, as it is now; None for another subject, or a ticket that is gone."""

    id: str
    subject: str
    title: str | None
    expires_at: str
    decision: str | None
    decided_by: str | None
    reason: str | None
    until_at: str | None


class Requests(NamedTuple):
    """`known`: what was looked for, by id. `declined`: the newest whose no still stands; `more`: there are more."""

    known: dict[str, Asked]
    declined: list[Asked]
    more: bool


def requests_of(session: Session, principal_key: str, ids: Collection[str], now: datetime) -> Requests:
    """One statement."""
    given = {"key": principal_key, "ids": json.dumps([*ids]), "now": to_text(now), "most": DECLINED_MAX + 1}
    rows = session.execute(text(REQUESTS), given).all()
    found = [(Asked(*row[:-1]), row.stands) for row in rows]
    declined = [one for one, stands in found if stands]
    return Requests({one.id: one for one, _ in found}, declined[:DECLINED_MAX], len(declined) > DECLINED_MAX)
