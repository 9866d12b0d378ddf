"""Signing in and out. A GET signs nobody in, every miss reads the same, and a sign-in always opens a new session.

The sign-in pages are public: they read no credentials but what their own form holds. What guards that form is a cookie
of its own, since there is no session yet.
"""

from datetime import datetime
from secrets import token_urlsafe
from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.exceptions import PermissionDeniedException
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath, QueryParameter
from litestar.response import Redirect

from app.auth import cookies, csrf
from app.auth.middleware import TOOLS_TOKEN_ELSEWHERE
from app.auth.next_page import HOME, safe_next
from app.services import sessions, tokens
from config.settings import Settings
from db.engine import Database
from routes.pages import page

Browser = Request[Any, Any, Any]
MISS = "That did not sign you in: it is unknown, used up, expired or revoked."
NO_COOKIE = (
    "Your browser sent this form without its cookie, so nobody was signed in. Try again, with cookies allowed, and "
    "over HTTPS: over plain HTTP they are kept only where the server is told so, with SECURE_COOKIES=0."
)


async def browser_only(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    if "authorization" in connection.headers:
        raise PermissionDeniedException("A token in a header does not sign in. Nothing was executed. Use the form.")


@get("/sign-in", name="session.new", budget=0, public=True, guards=[browser_only], include_in_schema=False)
async def sign_in_page(
    request: Browser, settings: NamedDependency[Settings], next_: Annotated[str, QueryParameter(name="next")] = HOME
) -> Response[Any]:
    return _form(request, settings, next_)


@post(
    "/sign-in",
    name="session.create",
    budget=3,
    public=True,
    guards=[browser_only],
    status_code=303,
    include_in_schema=False,
)
async def sign_in(
    request: Browser,
    db: NamedDependency[Database],
    now: NamedDependency[datetime],
    settings: NamedDependency[Settings],
) -> Response[Any]:
    form = await request.form()
    next_, text = csrf.text_field(form, "next"), csrf.text_field(form, "token").strip()
    if fault := await _fault(request, settings):
        return _form(request, settings, next_, status=403, error=fault)
    holder = await db.read(tokens.find, tokens.hashed(text), now)
    if holder is None:
        return _form(request, settings, next_, status=401, error=MISS)
    if holder.principal.kind != "operator":
        return _form(request, settings, next_, status=403, error=TOOLS_TOKEN_ELSEWHERE)
    cookie, old, ttl_s = token_urlsafe(32), _old(request, settings), settings.session_ttl_s
    await db.write(
        sessions.start,
        tokens.hashed(cookie),
        now,
        user_id=holder.user_id,
        token_id=holder.token_id,
        ttl_s=ttl_s,
        old=old,
    )
    return _signed_in(cookie, safe_next(next_), settings)


@get(
    "/sign-in/link/{secret:str}",
    name="session.link",
    budget=0,
    public=True,
    guards=[browser_only],
    include_in_schema=False,
)
async def link_page(request: Browser, secret: FromPath[str], settings: NamedDependency[Settings]) -> Response[Any]:
    """Asks for one press of a button: what fetches an address to preview it must not use it up."""
    guest = cookies.guest(request.cookies, secure=settings.secure_cookies)
    return _with_guest(page("sign_in_link.html", csrf=csrf.token(guest), secret=secret), guest, settings)


@post(
    "/sign-in/link",
    name="session.use",
    budget=3,
    public=True,
    guards=[browser_only],
    status_code=303,
    include_in_schema=False,
)
async def use_link(
    request: Browser,
    db: NamedDependency[Database],
    now: NamedDependency[datetime],
    settings: NamedDependency[Settings],
) -> Response[Any]:
    if fault := await _fault(request, settings):
        return _form(request, settings, HOME, status=403, error=fault)
    link = tokens.hashed(csrf.text_field(await request.form(), "secret"))
    cookie, old, ttl_s = token_urlsafe(32), _old(request, settings), settings.session_ttl_s
    if not await db.write(sessions.start_by_link, link, tokens.hashed(cookie), now, ttl_s=ttl_s, old=old):
        return _form(request, settings, HOME, status=401, error=MISS)
    return _signed_in(cookie, HOME, settings)


@post("/sign-out", name="session.end", budget=2, status_code=303, include_in_schema=False)
async def sign_out(
    request: Browser, db: NamedDependency[Database], settings: NamedDependency[Settings]
) -> Response[Any]:
    """Ends it on the server too. Needs no guard: a live session had to show its form's token to get here."""
    if hashed := _old(request, settings):
        await db.write(sessions.end, hashed)
    response = Redirect("/sign-in", status_code=303)
    secure = settings.secure_cookies
    response.set_cookie(cookies.make(cookies.session_name(secure), "", secure=secure, max_age_s=0))
    return response


async def _fault(request: Browser, settings: Settings) -> str | None:
    guest = request.cookies.get(cookies.guest_name(settings.secure_cookies))
    return await csrf.fault(request, guest) if guest else NO_COOKIE


def _form(
    request: Browser, settings: Settings, next_: str, *, status: int = 200, error: str | None = None
) -> Response[Any]:
    guest = cookies.guest(request.cookies, secure=settings.secure_cookies)
    shown = page("sign_in.html", status=status, csrf=csrf.token(guest), next=safe_next(next_), error=error)
    return _with_guest(shown, guest, settings)


def _with_guest(response: Response[Any], guest: str, settings: Settings) -> Response[Any]:
    secure = settings.secure_cookies
    response.set_cookie(cookies.make(cookies.guest_name(secure), guest, secure=secure))
    return response


def _signed_in(cookie: str, next_: str, settings: Settings) -> Response[Any]:
    secure, ttl_s = settings.secure_cookies, settings.session_ttl_s
    response = Redirect(next_, status_code=303, headers={"Cache-Control": "no-store"})
    response.set_cookie(cookies.make(cookies.session_name(secure), cookie, secure=secure, max_age_s=ttl_s))
    return response


def _old(request: Browser, settings: Settings) -> str | None:
    """The row of the session this browser has, to be deleted."""
    cookie = request.cookies.get(cookies.session_name(settings.secure_cookies))
    return tokens.hashed(cookie) if cookie else None


routes = (sign_in_page, sign_in, link_page, use_link, sign_out)
