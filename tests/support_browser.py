"""The product in a thread, on a port of its own, for a browser to look at."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

import uvicorn
from sqlalchemy.orm import Session
from support import a_comment, a_ticket, ago, an_operator

from app.main import System
from app.runtime.instants import utc_now
from app.services import tokens

if TYPE_CHECKING:
    from playwright.sync_api import Page

T = TypeVar("T")
TOKEN = "trg_browser_secret"  # noqa: S105


class Server(uvicorn.Server):
    """`furnish` fills the database before the first request; None leaves it as it is. 0 means any free port."""

    def __init__(self, system: System, *, port: int = 0, furnish: Callable[[Session], None] | None = None) -> None:
        super().__init__(uvicorn.Config(system.app, port=port, log_config=None, lifespan="off"))
        self.system, self.furnish = system, furnish
        self.ready, self.ended = Event(), Event()

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        self.system.live.stop()
        await super().shutdown(sockets)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}"

    def write(self, service: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Change its database from the test's thread, as some other door would."""
        change = self.system.db.write(service, *args, **kwargs)
        return asyncio.run_coroutine_threadsafe(change, self.loop).result(20)

    def stop(self) -> None:
        """And wait until it has ended."""
        self.should_exit = True
        assert self.ended.wait(20), "it does not stop"

    async def run_with_agents(self) -> None:
        self.loop = asyncio.get_running_loop()
        if self.furnish:
            await self.system.db.write(self.furnish)
        stop = asyncio.Event()
        agents = asyncio.create_task(self.system.host.run(stop))
        await self.serve()
        stop.set()
        await agents
        self.system.close()
        self.ended.set()


@contextmanager
def running(server: Server) -> Iterator[None]:
    thread = Thread(target=asyncio.run, args=[server.run_with_agents()])
    thread.start()
    assert server.ready.wait(20)
    try:
        yield
    finally:
        server.stop()
        thread.join()


def walkthrough(session: Session) -> None:
    """An operator with TOKEN, and four tickets, of which two are stale."""
    now = utc_now()
    an_operator(session)
    tokens.issue(session, TOKEN, now, name="browser", email="ops@example.test", scopes=[], expires_at=None)
    for title, days, status in (
        ("Login page 500s on Safari", 12, "open"),
        ("Stale: invoice export truncates", 12, "open"),
        ("Docs typo in the quickstart", 1, "open"),
        ("Billing webhook retry storm", 12, "closed"),
    ):
        at = ago(days, now)
        times = dict.fromkeys(("created_at", "updated_at", "last_activity_at"), at)
        a_comment(session, a_ticket(session, title=title, status=status, **times), created_at=at)


def sign_in(page: "Page", address: str, token: str = TOKEN) -> None:
    page.goto(address)
    page.get_by_label("Operator token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/")
