"""How an open page learns that something has changed: a stream, or, where there can be none, a conditional poll.

Both are asked by scripts, so whoever is not signed in gets a 401 and no sign-in page.
"""

from typing import Any

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.response import Stream

from app.auth import BrowserSession, person
from app.domain import Unavailable
from app.services import watch
from app.web.live import Watcher
from db.engine import Database

FRESH = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
UNBUFFERED = {"X-Accel-Buffering": "no"}  # nginx would keep messages back


@get("/console/events", name="console.events", budget=1, guards=[person], include_in_schema=False)
async def events(request: Request[Any, Any, Any], live: NamedDependency[Watcher | None]) -> Stream:
    if live is None or not isinstance(request.auth, BrowserSession):
        raise Unavailable("There is no stream here. Poll instead: GET /console/changes")
    session = request.auth.hashed
    live.admit(session)
    return Stream(live.follow(session), media_type="text/event-stream", headers=FRESH | UNBUFFERED)


@get("/console/changes", name="console.changes", budget=2, guards=[person], include_in_schema=False)
async def changes(request: Request[Any, Any, Any], db: NamedDependency[Database]) -> Response[str]:
    stamp = await db.read(watch.stamp)
    same = request.headers.get("if-none-match", "").removeprefix("W/") == f'"{stamp}"'
    headers = FRESH | {"ETag": f'"{stamp}"'}
    return Response("" if same else stamp, status_code=304 if same else 200, headers=headers, media_type="text/plain")


routes = (events, changes)
