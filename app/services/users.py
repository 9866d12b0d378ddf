"""People. Disabling one bites on the next request: every way in joins its owner in the statement that loads it."""

from datetime import datetime

from sqlalchemy import ColumnElement, exists, func, select, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import Session

from app.domain import NAME_MAX, Conflict, NotFound, Refusal
from app.runtime.instants import to_text
from app.schemas import UserOut
from db.schema import UserRow

OPERATE = "operate"  # the one ability there is: to change things, and to answer requests
COLUMNS = (UserRow.id, UserRow.name, UserRow.email, UserRow.abilities, UserRow.created_at, UserRow.disabled_at)


def add(session: Session, name: str, email: str, abilities: list[str], now: datetime) -> UserOut:
    """Raises Conflict when the address is taken, also by a disabled person."""
    values = {"name": _name(name), "email": _email(email), "abilities": abilities, "created_at": to_text(now)}
    insertion = insert(UserRow).values(values).on_conflict_do_nothing(index_elements=["email"]).returning(*COLUMNS)
    row = session.execute(insertion).one_or_none()
    if row is None:
        raise Conflict(f"{values['email']} is taken. Nobody was added. See: triager user list")
    return UserOut(**row._asdict())


def listing(session: Session) -> list[UserOut]:
    return [UserOut(**row._asdict()) for row in session.execute(select(*COLUMNS).order_by(UserRow.id))]


def disable(session: Session, email: str, now: datetime) -> UserOut:
    """Raises NotFound when nobody who is enabled has the address."""
    who = (UserRow.email == normal(email), UserRow.disabled_at.is_(None))
    row = session.execute(
        update(UserRow).where(*who).values(disabled_at=to_text(now)).returning(*COLUMNS)
    ).one_or_none()
    if row is None:
        raise NotFound(f"Nobody enabled has the address {email}. Nothing was changed. See: triager user list")
    return UserOut(**row._asdict())


def find(session: Session, email: str) -> UserOut | None:
    """Who is enabled and has the address."""
    row = session.execute(select(*COLUMNS).where(UserRow.email == normal(email), UserRow.disabled_at.is_(None))).first()
    return UserOut(**row._asdict()) if row else None


def can_operate() -> ColumnElement[bool]:
    abilities = func.json_each(UserRow.abilities).table_valued("value")
    return exists().where(abilities.c.value == OPERATE)


def normal(email: str) -> str:
    return email.strip().lower()


def _email(text: str) -> str:
    email = normal(text)
    local, at, host = email.partition("@")
    if not (local and at and host) or len(email) > NAME_MAX or not email.isprintable() or " " in email:
        raise Refusal(f'"{text}" is not an e-mail address. Nobody was added.')
    return email


def _name(text: str) -> str:
    name = text.strip()
    if not name or len(name) > NAME_MAX or not name.isprintable():
        raise Refusal(f"A name has 1 to {NAME_MAX} printable characters. Nobody was added.")
    return name
