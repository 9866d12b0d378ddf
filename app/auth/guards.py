"""Who may use a route. Guards are coroutines: a plain function would cost a thread hop on every request."""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException, NotAuthorizedException, PermissionDeniedException
from litestar.handlers import BaseRouteHandler

from app.auth.next_page import sign_in_path, wanted_page
from app.runtime.principal import Principal
from app.services.users import OPERATE

Connection = ASGIConnection[Any, Any, Any, Any]
Guard = Callable[[Connection, BaseRouteHandler], Awaitable[None]]


async def signed_in(connection: Connection, _: BaseRouteHandler) -> None:
    """Anybody a login, a token or the host vouches for."""
    _principal(connection)


async def operator(connection: Connection, _: BaseRouteHandler) -> None:
    """A person who may change things. No agent and no tools token ever is."""
    principal = _principal(connection)
    if not _may_operate(principal):
        raise _denied(principal)


async def person(connection: Connection, _: BaseRouteHandler) -> None:
    """Anybody who may look: operators, those with no ability to change things too."""
    principal = _principal(connection)
    if principal.kind != "operator":
        raise _denied(principal)


def operator_or(*agents: str) -> Guard:
    """Operators, these agents, and tools tokens, whose scopes the pipeline has checked."""

    async def guard(connection: Connection, _: BaseRouteHandler) -> None:
        principal = _principal(connection)
        is_named = principal.kind == "agent" and principal.id.partition(":")[0] in agents
        if not (_may_operate(principal) or is_named or principal.kind == "token"):
            raise _denied(principal)

    return guard


may_close_ticket = operator_or("triager")


async def console(connection: Connection, _: BaseRouteHandler) -> None:
    """People only. An anonymous visitor is led to the sign-in page."""
    principal = connection.scope.get("user")
    if principal is None:
        raise _sign_in_first(connection)
    if principal.kind != "operator":
        raise _denied(principal)


def _principal(connection: Connection) -> Principal:
    principal = connection.scope.get("user")
    if not isinstance(principal, Principal):
        raise NotAuthorizedException(
            "Nobody is signed in. Nothing was executed. Sign in at /sign-in, or send Authorization: Bearer <token>.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return principal


def _may_operate(principal: Principal) -> bool:
    return principal.kind == "operator" and OPERATE in principal.abilities


def _denied(principal: Principal) -> PermissionDeniedException:
    return PermissionDeniedException(
        f"{principal.name} ({principal.key}) may not do this. Nothing was executed. Ask somebody who may operate."
    )


def _sign_in_first(connection: Connection) -> HTTPException:
    # htmx follows a redirect and would swap the sign-in form into the middle of a page; it is told to leave instead.
    where = sign_in_path(wanted_page(connection))
    if connection.headers.get("hx-request") == "true":
        return NotAuthorizedException("Sign in first. Nothing was executed.", headers={"HX-Redirect": where})
    return HTTPException("Sign in first. Nothing was executed.", status_code=303, headers={"Location": where})
