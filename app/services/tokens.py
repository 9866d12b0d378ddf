"""Tokens for programs: an operator's (acts as its owner) or a tools token (calls tools at /mcp, nothing else).

The text is shown once. Its hash is what is stored and looked up: the secret in it has 256 random bits, so finding the
hash proves the text, and no comparison leaks anything.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import JSON, and_, bindparam, insert, literal, or_, select, update
from sqlalchemy.orm import Session

from app.domain import NAME_MAX, NotFound, Refusal
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from app.schemas import TokenOut
from app.services.users import OPERATE, can_operate, normal
from db.schema import TokenRow, UserRow

# Every request runs FIND: plain tables, on the session's connection, spare it the ORM's half of the cost.
TOKEN, USER = TokenRow.__table__.c, UserRow.__table__.c
LIVE = and_(TOKEN.revoked_at.is_(None), or_(TOKEN.expires_at.is_(None), TOKEN.expires_at > bindparam("now")))
FIND = (
    select(TOKEN.id, TOKEN.name, TOKEN.kind, TOKEN.scopes, TOKEN.user_id, USER.name.label("user_name"), USER.abilities)
    .join_from(TokenRow.__table__, UserRow.__table__, USER.id == TOKEN.user_id)
    .where(TOKEN.hashed == bindparam("hashed"), USER.disabled_at.is_(None), LIVE)
)


class Holder(NamedTuple):
    """Whom a token lets in. A tools token's principal is the token itself, and its abilities are its scopes."""

    user_id: int
    token_id: str
    principal: Principal


def fresh(random: Callable[[int], bytes]) -> str:
    """The text of a new token, `trg_<id>_<secret>`."""
    return f"trg_{random(6).hex()}_{urlsafe_b64encode(random(32)).rstrip(b'=').decode()}"


def hashed(secret: str) -> str:
    return sha256(secret.encode(errors="replace")).hexdigest()


def find(session: Session, hashed: str, now: datetime) -> Holder | None:
    """Whom the token with this hash lets in now: it is not revoked or expired, and its owner is not disabled.

    A tools token changes things in its owner's place, so it works only while its owner may.
    """
    row = session.connection().execute(FIND, {"hashed": hashed, "now": to_text(now)}).one_or_none()
    if row is None or (row.kind == "tools" and OPERATE not in row.abilities):
        return None
    if row.kind == "tools":
        principal = Principal("token", row.id, row.name, frozenset(row.scopes))
    else:
        principal = Principal("operator", str(row.user_id), row.user_name, frozenset(row.abilities))
    return Holder(row.user_id, row.id, principal)


def issue(
    session: Session, text: str, now: datetime, *, name: str, email: str, scopes: list[str], expires_at: datetime | None
) -> TokenOut:
    """Store the token `text`, a tools token if it has scopes; its owner must be enabled, and for tools may operate.

    Raises NotFound when nobody like that has the address, and Refusal for a name that is none.
    """
    if not 1 <= len(name) <= NAME_MAX or not name.isprintable():
        raise Refusal(f"A token's name has 1 to {NAME_MAX} printable characters. No token was issued.")
    values: dict[str, Any] = {
        "id": text.split("_")[1],
        "name": name,
        "kind": "tools" if scopes else "operator",
        "hashed": hashed(text),
        "created_at": to_text(now),
        "expires_at": to_text(expires_at) if expires_at else None,
    }
    owner = select(UserRow.id, literal(scopes, JSON), *(literal(value) for value in values.values()))
    owner = owner.where(UserRow.email == normal(email), UserRow.disabled_at.is_(None))
    owner = owner.where(can_operate()) if scopes else owner
    insertion = insert(TokenRow).from_select(["user_id", "scopes", *values], owner).returning(TokenRow.revoked_at)
    if session.execute(insertion).one_or_none() is None:
        who = "Nobody enabled who may change things" if scopes else "Nobody enabled"
        raise NotFound(f"{who} has the address {email}. No token was issued. See: triager user list")
    del values["hashed"]
    return TokenOut(**values, owner=normal(email), scopes=scopes, revoked_at=None)


def listing(session: Session) -> list[TokenOut]:
    """Every token, newest first."""
    columns = (TokenRow.id, TokenRow.name, TokenRow.kind, TokenRow.scopes, UserRow.email.label("owner"))
    times = (TokenRow.created_at, TokenRow.expires_at, TokenRow.revoked_at)
    rows = session.execute(select(*columns, *times).join(UserRow).order_by(TokenRow.created_at.desc(), TokenRow.id))
    return [TokenOut(**row._asdict()) for row in rows]


def revoke(session: Session, token_id: str, now: datetime) -> None:
    """From the next request on. Raises NotFound when there is no such token, or it was revoked before."""
    live = (TokenRow.id == token_id, TokenRow.revoked_at.is_(None))
    revocation = update(TokenRow).where(*live).values(revoked_at=to_text(now)).returning(TokenRow.id)
    if session.execute(revocation).one_or_none() is None:
        raise NotFound(f'No token "{token_id}" is left to revoke. Nothing was changed. See: triager token list')
