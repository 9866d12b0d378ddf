"""Errors on the wire: problem+json (RFC 9457) with the trace id, and nothing about our insides.

`problem_of` decides; `main` registers EXCEPTION_HANDLERS for the whole app. A browser gets the same problem as a page,
within the frame of the console when somebody is signed in. That page asks the database nothing: it may be what fails.
"""

from http import HTTPStatus
from typing import Any

import structlog
from litestar import MediaType, Request, Response
from litestar.enums import RequestEncodingType
from litestar.exceptions import HTTPException, ValidationException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ExceptionHandlersMap

from app.auth import BrowserSession
from app.auth.next_page import came_from
from app.domain import Conflict, Refusal, Unavailable
from app.runtime import invocation
from app.runtime.errors import Halted, Stopping
from app.schemas import PROBLEM_JSON, Problem
from app.web.strict import in_words
from routes.pages import page

RETRY_AFTER_S = "1"
MISFIT = "What was sent does not fit this route. Nothing was executed. See errors."
BUG = "Something went wrong on our side. The log has it under this trace id."


def problem_of(error: Exception) -> Problem:
    """What to tell the caller. Anything but a refusal and an HTTPException is a bug of ours: 500, without its text."""
    match error:
        case Refusal():
            return _problem(error.status, str(error), state=error.state if isinstance(error, Conflict) else None)
        case Halted():
            return _problem(HTTPStatus.CONFLICT, str(error), state="halted")
        case Stopping():
            return _problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        case ValidationException():
            return _problem(HTTPStatus.UNPROCESSABLE_ENTITY, MISFIT, errors=_in_words(error))
        case HTTPException() if error.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
            phrase = HTTPStatus(error.status_code).phrase
            said = f"{phrase}. Nothing was executed." if error.detail == phrase else error.detail
            return _problem(error.status_code, said)
    return _problem(HTTPStatus.INTERNAL_SERVER_ERROR, BUG)


def headers_of(error: Exception) -> dict[str, str]:
    if isinstance(error, Unavailable | Stopping):
        return {"Retry-After": RETRY_AFTER_S}
    return dict(error.headers or {}) if isinstance(error, HTTPException) else {}


def answer(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """As JSON, or as a page for a browser."""
    problem, headers = problem_of(error), headers_of(error)
    if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log_bug(request, error)
    if _is_browser(request):
        return _page(request, problem, headers)
    return Response(problem, status_code=problem.status, media_type=PROBLEM_JSON, headers=headers)


def _is_browser(request: Request[Any, Any, Any]) -> bool:
    """Whether it asks for a page, or sends a form of one of ours."""
    handler = request.scope.get("route_handler")
    form = request.content_type[0] in (RequestEncodingType.URL_ENCODED, RequestEncodingType.MULTI_PART)
    ours = isinstance(handler, HTTPRouteHandler) and not handler.resolve_include_in_schema()
    return request.headers.get("accept", "").startswith(MediaType.HTML) or (form and ours)


def _page(request: Request[Any, Any, Any], problem: Problem, headers: dict[str, str]) -> Response[str]:
    auth = request.scope.get("auth")
    around: dict[str, Any] = {"signed_in": False}
    if isinstance(auth, BrowserSession):
        around = {"signed_in": True, "csrf": auth.csrf, "path": request.scope["path"], "name": request.user.name}
        around |= {"waiting": 0, "brakes": [], "seen": "", "refresh": "", "notice": None}
    back = came_from(request)
    return page("error.html", status=problem.status, headers=headers, problem=problem, back=back, **around)


def log_bug(request: Request[Any, Any, Any], error: Exception) -> None:
    structlog.get_logger("triager").error(
        "unhandled", method=request.method, path=request.scope["path"], exc_info=error, trace_id=invocation.trace_id()
    )


EXCEPTION_HANDLERS: ExceptionHandlersMap = {Refusal: answer, HTTPException: answer, Exception: answer}


def _in_words(error: ValidationException) -> list[dict[str, Any]]:
    faults: Any = error.extra or [{"message": error.detail}]
    return [fault | {"message": in_words(fault["message"])} for fault in faults]


def _problem(status: int, detail: str, **more: Any) -> Problem:
    title = HTTPStatus(status).phrase
    return Problem(
        type="about:blank", title=title, status=status, detail=detail, trace_id=invocation.trace_id(), **more
    )
