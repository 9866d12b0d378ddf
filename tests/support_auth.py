"""A small app behind the real authentication, with the real sign-in pages: one route for every kind of exemption."""

from datetime import datetime, timedelta
from typing import Any

import httpx
from litestar import Litestar, Request, asgi, get, post
from litestar.di import NamedDependency, Provide
from litestar.response.base import ASGIResponse
from litestar.types import ASGIApp, Receive, Scope, Send
from sqlalchemy.orm import Session
from support import an_operator

from app.auth import Authentication, BrowserSession, console, may_close_ticket, operator, signed_in
from app.runtime import invocation
from app.runtime.principal import IN_PROCESS, InProcess
from app.services import sessions, tokens
from config.settings import Settings
from db.engine import Database
from routes import session as session_routes

HOST = "https://triager.test"
TOKEN, OTHER_TOKEN, TOOLS_TOKEN, READER_TOKEN = (f"trg_{n}_secret" for n in ("ops", "other", "tools", "reader"))


class Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **span: float) -> None:
        self.now += timedelta(**span)


def people(session: Session, now: datetime) -> None:
    """Ops (1) and Other (2) may operate, Reader (3) may look; each has a token, and Ops a tools token too."""
    an_operator(session)
    an_operator(session, name="Other", email="other@example.test")
    an_operator(session, name="Reader", email="reader@example.test", abilities=[])
    scopes = ["tool:tickets_index"]
    for text, owner in ((TOKEN, "ops"), (OTHER_TOKEN, "other"), (TOOLS_TOKEN, "ops"), (READER_TOKEN, "reader")):
        tokens.issue(
            session,
            text,
            now,
            name=text,
            email=f"{owner}@example.test",
            scopes=scopes if text == TOOLS_TOKEN else [],
            expires_at=now + timedelta(days=30),
        )


def who(request: Request[Any, Any, Any]) -> dict[str, Any]:
    auth = request.scope["auth"]
    user = request.scope["user"]
    return {"who": user and user.key, "how": "session" if isinstance(auth, BrowserSession) else auth}


@get("/whoami")
async def whoami(request: Request[Any, Any, Any]) -> dict[str, Any]:
    return who(request)


@get("/health", public=True)
async def health(request: Request[Any, Any, Any]) -> dict[str, Any]:
    return who(request)


@get("/signed-in", guards=[signed_in])
async def for_the_signed_in() -> str:
    return "ok"


@post("/operate", guards=[operator], status_code=200)
async def operate(request: Request[Any, Any, Any]) -> dict[str, str]:
    return dict(await request.form())


@post("/close", guards=[may_close_ticket], status_code=200)
async def close() -> str:
    return "ok"


@get(["/", "/console/page"], guards=[console])
async def console_page(request: Request[Any, Any, Any]) -> str:
    return request.auth.csrf if isinstance(request.auth, BrowserSession) else ""


@post("/console/action", guards=[console, operator], status_code=200)
async def console_action() -> str:
    return "ok"


@post("/slow", guards=[operator], status_code=200)
async def slow(request: Request[Any, Any, Any], db: NamedDependency[Database]) -> str:
    """Whose sign-out happens while it runs."""
    await db.write(sessions.end, request.auth.hashed)
    return "ok"


@asgi("/mcp", copy_scope=True, tools_token=True)
async def mcp(scope: Scope, receive: Receive, send: Send) -> None:
    await ASGIResponse(body=scope["user"].key.encode())(scope, receive, send)


def counted(app: ASGIApp, spent: list[int]) -> ASGIApp:
    async def asgi_app(scope: Any, receive: Any, send: Any) -> None:
        with invocation.begin("trace") as current:
            await app(scope, receive, send)
        spent.append(current.statements)

    return asgi_app


class House:
    def __init__(self, database: Database, now: datetime, *, secure: bool = True) -> None:
        self.clock = Clock(now)
        self.db = database
        self.statements: list[int] = []
        settings = Settings(secure_cookies=secure)
        routes = [whoami, health, for_the_signed_in, operate, close, console_page, console_action, slow, mcp]
        app = Litestar(
            [*routes, *session_routes.routes],
            dependencies={
                "db": Provide(lambda: database, sync_to_thread=False),
                "now": Provide(self.clock, sync_to_thread=False),
                "settings": Provide(lambda: settings, sync_to_thread=False),
            },
            middleware=[Authentication(database, self.clock, secure_cookies=secure)],
            openapi_config=None,
            logging_config=None,
        )
        self.app = counted(app, self.statements)

    def browser(self, **options: Any) -> httpx.AsyncClient:
        """A client with a cookie jar of its own."""
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=HOST, **options)  # type: ignore[arg-type]

    def in_process(self, caller: InProcess, **options: Any) -> httpx.AsyncClient:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await self.app({**scope, IN_PROCESS: caller}, receive, send)

        return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOST, **options)

    async def add_people(self) -> None:
        await self.db.write(people, self.clock())
