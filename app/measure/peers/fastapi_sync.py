"""FastAPI with synchronous SQLAlchemy: plain functions, which FastAPI runs on threads, and one session a request."""

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from app.measure.peers.models import Page, page
from app.measure.peers.shared import LIST, WHO, database, serve


def app(path: Path) -> FastAPI:
    engine, made = create_engine(f"sqlite:///{path}"), FastAPI()

    def session() -> Iterator[Session]:
        with Session(engine) as opened:
            yield opened

    def signed_in(authorization: Annotated[str, Header()], session: Annotated[Session, Depends(session)]) -> None:
        hashed = sha256(authorization.removeprefix("Bearer ").encode()).hexdigest()
        if session.execute(WHO, {"hashed": hashed, "now": datetime.now(UTC).isoformat()}).one_or_none() is None:
            raise HTTPException(401)

    @made.get("/tickets", dependencies=[Depends(signed_in)])
    def list_tickets(session: Annotated[Session, Depends(session)]) -> Page:
        return page(session.execute(LIST, {"inactive_since": datetime.now(UTC).isoformat()}).all())

    return made


if __name__ == "__main__":
    serve(app(database()))
