"""Who is calling: the in-process principal, else the bearer token, else the session, else nobody.

Puts a Principal or None into `scope["user"]`, and how it got in into `scope["auth"]`. One statement per request. A
route marked `public=True` skips all of it; only one marked `tools_token=True` lets a tools token in, and no cookie.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from litestar import Request
from litestar.enums import ScopeType
from litestar.exceptions import NotAuthorizedException, PermissionDeniedException
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from app.auth import cookies, csrf
from app.domain import Unavailable
from app.runtime.instants import Clock
from app.runtime.principal import IN_PROCESS, InProcess, Principal
from app.services import sessions, tokens
from db.engine import Database

PUBLIC, TOOLS_TOKEN = "public", "tools_token"  # keys in a handler's opt
BEARER = re.compile(rb"(?i:bearer) ([\x21-\x7e]+)")
TOOLS_TOKEN_ELSEWHERE = "A tools token works at /mcp only. Nothing was executed. Elsewhere, use an operator token."  # noqa: S105 (words)


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """How a browser got in. `csrf` is what its forms must carry."""

    hashed: str
    csrf: str
    last_seen_at: str


Auth = Literal["in-process", "bearer"] | BrowserSession | None


class Authentication(ASGIMiddleware):
    scopes = (ScopeType.HTTP,)

    def __init__(self, db: Database, clock: Clock, *, secure_cookies: bool) -> None:
        self.db = db
        self.clock = clock
        self.cookie_name = cookies.session_name(secure_cookies)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        scope["user"] = scope["auth"] = None
        _stay_on_route(scope)
        opt = scope["route_handler"].opt
        if not opt.get(PUBLIC):
            request: Request[Any, Any, Any] = Request(scope, receive, send)
            tools_token = bool(opt.get(TOOLS_TOKEN))
            scope["user"], scope["auth"] = await self._identify(request, tools_token=tools_token)
            await self._protect(request, tools_token=tools_token)
        await next_app(scope, receive, send)
        # After the answer: a page never waits for the write lock.
        await self._touch(scope["auth"])

    async def _identify(self, request: Request[Any, Any, Any], *, tools_token: bool) -> tuple[Principal | None, Auth]:
        call = request.scope.get(IN_PROCESS)
        given = [value for name, value in request.scope["headers"] if name == b"authorization"]
        if isinstance(call, InProcess):
            if given or "cookie" in request.headers:
                raise PermissionDeniedException("An in-process call brings no credentials. Nothing was executed.")
            return call.principal, "in-process"
        if given:
            return await self._by_bearer(given), "bearer"
        cookie = request.cookies.get(self.cookie_name)
        if cookie and not tools_token:
            return await self._by_session(cookie)
        return None, None

    async def _by_bearer(self, given: list[bytes]) -> Principal:
        text = _bearer_text(given)
        holder = await self.db.read(tokens.find, tokens.hashed(text), self.clock()) if text else None
        if holder is None:
            raise NotAuthorizedException(
                "The Authorization header does not hold one valid bearer token. Nothing was executed.",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return holder.principal

    async def _by_session(self, cookie: str) -> tuple[Principal | None, Auth]:
        hashed = tokens.hashed(cookie)
        found = await self.db.read(sessions.find, hashed, self.clock())
        if found is None:
            return None, None
        return found.principal, BrowserSession(hashed, csrf.token(cookie), found.last_seen_at)

    async def _protect(self, request: Request[Any, Any, Any], *, tools_token: bool) -> None:
        """Refuse what this way in may not do. Raises PermissionDeniedException."""
        principal, auth = request.scope["user"], request.scope["auth"]
        if auth == "bearer" and principal.kind == "token" and not tools_token:
            raise PermissionDeniedException(TOOLS_TOKEN_ELSEWHERE)
        # A browser sends its cookie along with whatever a page makes it send, so a bearer token beside it is no proof.
        cookie = request.cookies.get(self.cookie_name)
        if principal and cookie and not tools_token and request.method not in csrf.SAFE_METHODS:
            fault = await csrf.fault(request, cookie)
            if fault:
                raise PermissionDeniedException(fault)

    async def _touch(self, auth: Auth) -> None:
        now = self.clock()
        if isinstance(auth, BrowserSession) and sessions.is_touch_due(auth.last_seen_at, now):
            with suppress(Unavailable):
                await self.db.write(sessions.touch, auth.hashed, now)


def _stay_on_route(scope: Scope) -> None:
    """A tool's call reaches the route it is named after, whatever its path arguments spell."""
    call = scope.get(IN_PROCESS)
    if isinstance(call, InProcess) and call.route not in (None, scope["route_handler"].name):
        raise PermissionDeniedException("These arguments lead to another route. Nothing was executed.")


def _bearer_text(given: list[bytes]) -> str | None:
    match = BEARER.fullmatch(given[0]) if len(given) == 1 else None
    return match[1].decode() if match else None
