"""The example tickets, and a first operator with a token."""

import secrets
from datetime import datetime

from sqlalchemy.orm import Session

from app.services import tokens
from db import fixtures
from db.engine import Database


async def seed(db: Database, now: datetime) -> str | None:
    """Fill what is empty. The new operator's token, or None when there are people already."""
    text = tokens.fresh(secrets.token_bytes)
    return text if await db.write(_seed, text, now) else None


def _seed(session: Session, text: str, now: datetime) -> bool:
    planted = fixtures.plant(session, now)
    if planted:
        tokens.issue(session, text, now, name="operator-cli", email=fixtures.EMAIL, scopes=[], expires_at=None)
    return planted
