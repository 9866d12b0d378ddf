"""Where somebody is signed in, and ending that from here."""

from functools import partial
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import URLEncodedBody
from msgspec import Struct

from app.auth import BrowserSession
from app.services import sessions
from routes.console.desk import Desk

SESSIONS = "/console/sessions"


class Which(Struct):
    """A session's id; empty means all but this one."""

    session: str = ""


async def _page(desk: Desk, notice: str | None = None, status: int = 200) -> Response[str]:
    found = await desk.db.read(sessions.listing, _person(desk), desk.now)
    return await desk.show("sessions.html", sessions=found, this=_this(desk), notice=notice, status=status)


@get(SESSIONS, name="console.sessions", budget=3)
async def index(desk: NamedDependency[Desk]) -> Response[str]:
    return await _page(desk)


@post(f"{SESSIONS}/end", name="console.end_session", budget=2, status_code=200)
async def end(data: URLEncodedBody[Which], desk: NamedDependency[Desk]) -> Response[Any]:
    if data.session:
        ending = desk.db.write(sessions.end_own, data.session, _person(desk))
    else:
        ending = desk.db.write(sessions.end_others, _this(desk), _person(desk))
    return await desk.act(ending, then=lambda _: SESSIONS, on=partial(_page, desk))


def _person(desk: Desk) -> int:
    return int(desk.request.user.id)


def _this(desk: Desk) -> str:
    """Empty for a program that came with a token: none of the sessions is its own."""
    auth = desk.request.auth
    return auth.hashed if isinstance(auth, BrowserSession) else ""


routes = (index, end)
