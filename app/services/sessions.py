"""Browsers that signed in, and the one-use links that sign one in.

A row's id is the SHA-256 of the cookie, or of the link's secret. A session ends at a fixed time, and dies before that
with the token it was opened with and with its owner: the statement that finds it asks for all three.
"""

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import bindparam, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session

from app.domain import NotFound
from app.runtime.instants import after, from_text, to_text
from app.runtime.principal import Principal
from app.services.tokens import LIVE, TOKEN, USER
from db.schema import SessionRow, SignInLinkRow, TokenRow, UserRow

LINK_TTL_S = 600
TOUCH_EVERY = timedelta(minutes=5)
LISTED_MAX = 50
SESSION = SessionRow.__table__.c
LIVING = (
    SESSION.expires_at > bindparam("now"),
    USER.disabled_at.is_(None),
    or_(SESSION.token_id.is_(None), TOKEN.id.is_not(None) & LIVE),
)
SIGNED_IN = (
    select(SESSION.id)
    .join_from(SessionRow.__table__, UserRow.__table__, USER.id == SESSION.user_id)
    .outerjoin(TokenRow.__table__, TOKEN.id == SESSION.token_id)
    .where(*LIVING)
)
FIND = SIGNED_IN.with_only_columns(USER.id, USER.name, USER.abilities, SESSION.last_seen_at).where(
    SESSION.id == bindparam("hashed")
)
THESE = select(func.json_each(bindparam("these")).table_valued("value", name="each").c.value)


class SignedIn(NamedTuple):
    principal: Principal
    last_seen_at: str


def find(session: Session, hashed: str, now: datetime) -> SignedIn | None:
    row = session.execute(FIND, {"hashed": hashed, "now": to_text(now)}).one_or_none()
    if row is None:
        return None
    return SignedIn(Principal("operator", str(row.id), row.name, frozenset(row.abilities)), row.last_seen_at)


def living(session: Session, hashes: Collection[str], now: datetime) -> set[str]:
    """Those of these sessions that have not ended."""
    given = {"these": json.dumps(sorted(hashes)), "now": to_text(now)}
    return set(session.execute(SIGNED_IN.where(SESSION.id.in_(THESE)), given).scalars())


def start(
    session: Session, hashed: str, now: datetime, *, user_id: int, token_id: str | None, ttl_s: int, old: str | None
) -> None:
    """Open the session whose cookie hashes to `hashed`. The row `old`, and every one past its time, goes."""
    at = to_text(now)
    session.execute(delete(SessionRow).where(or_(SessionRow.id == old, SessionRow.expires_at <= at)))
    row = {"id": hashed, "user_id": user_id, "token_id": token_id, "created_at": at, "last_seen_at": at}
    session.execute(insert(SessionRow).values(row | {"expires_at": after(now, ttl_s)}))


def start_by_link(session: Session, link: str, hashed: str, now: datetime, *, ttl_s: int, old: str | None) -> bool:
    """Open a session for the link whose secret hashes to `link`, and use it up. False when it does not work."""
    user_id = use_link(session, link, now)
    if user_id is not None:
        start(session, hashed, now, user_id=user_id, token_id=None, ttl_s=ttl_s, old=old)
    return user_id is not None


def is_touch_due(last_seen_at: str, now: datetime) -> bool:
    return now - from_text(last_seen_at) >= TOUCH_EVERY


class Browser(NamedTuple):
    """Where a person is signed in. `by` names the token it was opened with; None when a link opened it."""

    id: str
    by: str | None
    created_at: str
    last_seen_at: str


def listing(session: Session, user_id: int, now: datetime) -> list[Browser]:
    """The person's sessions, the one seen last first, at most `LISTED_MAX`."""
    rows = SIGNED_IN.with_only_columns(SESSION.id, TOKEN.name, SESSION.created_at, SESSION.last_seen_at)
    own = rows.where(SESSION.user_id == user_id).order_by(SESSION.last_seen_at.desc(), SESSION.id).limit(LISTED_MAX)
    return [Browser(*row) for row in session.execute(own, {"now": to_text(now)})]


def end_own(session: Session, hashed: str, user_id: int) -> None:
    """End this session of this person. Raises NotFound when it is not theirs, or has ended before."""
    own = delete(SessionRow).where(SessionRow.id == hashed, SessionRow.user_id == user_id).returning(SessionRow.id)
    if session.execute(own).one_or_none() is None:
        raise NotFound("You have no such session: it has ended already. Nothing was changed.")


def end_others(session: Session, hashed: str, user_id: int) -> None:
    """End every session of this person but one."""
    session.execute(delete(SessionRow).where(SessionRow.id != hashed, SessionRow.user_id == user_id))


def touch(session: Session, hashed: str, now: datetime) -> None:
    """Note that the session is in use. One that ended meanwhile stays ended."""
    session.execute(update(SessionRow).where(SessionRow.id == hashed).values(last_seen_at=to_text(now)))


def end(session: Session, hashed: str) -> None:
    session.execute(delete(SessionRow).where(SessionRow.id == hashed))


def make_link(session: Session, hashed: str, user_id: int, now: datetime) -> None:
    """Let whoever brings the secret that hashes to `hashed` sign in as the user, once, within ten minutes."""
    session.execute(delete(SignInLinkRow).where(SignInLinkRow.expires_at <= to_text(now)))
    session.execute(insert(SignInLinkRow).values(id=hashed, user_id=user_id, expires_at=after(now, LINK_TTL_S)))


def use_link(session: Session, hashed: str, now: datetime) -> int | None:
    """The id of the user the link signs in; the link is gone. None when it is used or expired, or its user disabled."""
    enabled = select(UserRow.id).where(UserRow.disabled_at.is_(None))
    works = (SignInLinkRow.id == hashed, SignInLinkRow.expires_at > to_text(now), SignInLinkRow.user_id.in_(enabled))
    return session.execute(delete(SignInLinkRow).where(*works).returning(SignInLinkRow.user_id)).scalar_one_or_none()
