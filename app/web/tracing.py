"""The outermost layer: each request from the network is one invocation, with a trace id, and one line in the log."""

import re
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

import structlog
from structlog.processors import ExceptionRenderer
from structlog.tracebacks import ExceptionDictTransformer

from app.runtime import invocation
from app.runtime.tools.dispatch import ASGIApp, Message
from app.runtime.tools.redact import HIDDEN, redact

SIGN_IN_LINK = re.compile(r"(/sign-in/link/).+")  # whoever has it signs in, for ten minutes
log = structlog.get_logger()


class Traced:
    """Wraps the app as the network sees it. In-process calls go to the app itself, and stay in their caller's trace."""

    def __init__(self, app: ASGIApp, new_trace: Callable[[], str]) -> None:
        self._app, self._new_trace = app, new_trace

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"traceparent", b"").decode("latin-1")
        trace = invocation.trace_from(given) or self._new_trace()
        status, started = 500, time.perf_counter()

        async def send_with_trace(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], (b"x-trace-id", trace.encode())]}
            await send(message)

        with invocation.begin(trace) as own:
            try:
                await self._app(scope, receive, send_with_trace)
            finally:
                log.info(
                    "request",
                    method=scope["method"],
                    path=SIGN_IN_LINK.sub(rf"\1{HIDDEN}", scope["path"]),
                    status=status,
                    ms=round((time.perf_counter() - started) * 1000, 1),
                    statements=own.statements,
                )


def configure_logs(file: TextIO | None = None) -> None:
    """JSON lines on `file` (stderr), each with the trace it belongs to. Called by what serves, never at import."""
    structlog.configure(
        processors=[
            _with_trace,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            # Without the values of local variables: a request's headers are among them.
            ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            _without_secrets,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(file=file or sys.stderr),
        cache_logger_on_first_use=False,
    )


def _with_trace(_logger: Any, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    if trace := invocation.trace_id():
        event["trace_id"] = trace
    return event


def _without_secrets(_logger: Any, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """An exception's message may quote one. A count of sessions is none."""
    texts = {key: said for key, said in event.items() if isinstance(said, str | dict | list)}
    return {**event, **redact(texts)}
