"""A first operator and their token; the example tickets."""

import secrets
from datetime import datetime

from app.services import tokens, users
from db import fixtures
from db.engine import Database

TOKEN_NAME = "operator-cli"  # noqa: S105 (what the token is called)


async def seed(db: Database, now: datetime) -> str | None:
    """Put the examples into empty tables. The operator's token when the operator is new: it is shown only this once."""
    return await _token(db, now) if await db.write(fixtures.plant, now) else None


async def operator_alone(db: Database, now: datetime) -> str:
    """The operator of the examples, without the tickets. Their token."""
    await db.write(users.add, fixtures.NAME, fixtures.EMAIL, [users.OPERATE], now)
    return await _token(db, now)


async def _token(db: Database, now: datetime) -> str:
    text = tokens.fresh(secrets.token_bytes)
    await db.write(tokens.issue, text, now, name=TOKEN_NAME, email=fixtures.EMAIL, scopes=[], expires_at=None)
    return text
