"""Errors on the wire: problem+json (RFC 9457) with the trace id, and nothing about our insides.

`problem_of` decides; `main` registers EXCEPTION_HANDLERS for the whole app. A browser gets the same problem as a page.
"""

from http import HTTPStatus
from typing import Any

import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.types import ExceptionHandlersMap

from app.domain import Conflict, Refusal, Unavailable
from app.runtime import invocation
from app.runtime.errors import Halted, Stopping
from app.schemas import PROBLEM_JSON, Problem
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
            return _problem(HTTPStatus.UNPROCESSABLE_ENTITY, MISFIT, errors=error.extra or [{"message": error.detail}])
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
    """As JSON, or as a page when a browser asks for one."""
    problem, headers = problem_of(error), headers_of(error)
    if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log_bug(request, error)
    if request.headers.get("accept", "").startswith("text/html"):
        return page("error.html", status=problem.status, headers=headers, problem=problem)
    return Response(problem, status_code=problem.status, media_type=PROBLEM_JSON, headers=headers)


def log_bug(request: Request[Any, Any, Any], error: Exception) -> None:
    structlog.get_logger("triager").error(
        "unhandled", method=request.method, path=request.scope["path"], exc_info=error, trace_id=invocation.trace_id()
    )


EXCEPTION_HANDLERS: ExceptionHandlersMap = {Refusal: answer, HTTPException: answer, Exception: answer}


def _problem(status: int, detail: str, **more: Any) -> Problem:
    title = HTTPStatus(status).phrase
    return Problem(
        type="about:blank", title=title, status=status, detail=detail, trace_id=invocation.trace_id(), **more
    )
