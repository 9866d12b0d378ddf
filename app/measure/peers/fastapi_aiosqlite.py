"""FastAPI with SQLAlchemy's asyncio API over aiosqlite, one session a request."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from app.measure.peers.models import Page, page
from app.measure.peers.shared import LIST, WHO, database, serve


def app(path: Path) -> FastAPI:
    engine, made = create_async_engine(f"sqlite+aiosqlite:///{path}"), FastAPI()

    async def session() -> AsyncIterator[AsyncSession]:
        async with AsyncSession(engine) as opened:
            yield opened

    async def signed_in(
        authorization: Annotated[str, Header()], session: Annotated[AsyncSession, Depends(session)]
    ) -> None:
        hashed = sha256(authorization.removeprefix("Bearer ").encode()).hexdigest()
        found = await session.execute(WHO, {"hashed": hashed, "now": datetime.now(UTC).isoformat()})
        if found.one_or_none() is None:
            raise HTTPException(401)

    @made.get("/tickets", dependencies=[Depends(signed_in)])
    async def list_tickets(session: Annotated[AsyncSession, Depends(session)]) -> Page:
        return page((await session.execute(LIST, {"inactive_since": datetime.now(UTC).isoformat()})).all())

    return made


if __name__ == "__main__":
    serve(app(database()))
