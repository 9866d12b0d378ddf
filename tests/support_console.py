"""The console on the real app, and browsers that have signed in. The fixture `house`: tests/integration/conftest.py."""

import asyncio
import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select
from sqlalchemy.orm import Session
from support import a_ticket, ago, an_operator

from app.main import System, build
from app.runtime import invocation
from app.runtime.principal import Principal
from app.services import approvals, sessions, tokens
from config.settings import Settings
from db.schema import ApprovalRow

COOKIE, OTHER_COOKIE, LOOKER_COOKIE = "c" * 43, "o" * 43, "d" * 43
HOURS = 3600
ANA = Principal("operator", "2", "Ana")
YES: dict[str, Any] = {"decision": "approved", "decided_at": ago(0), "decided_by": "Ana", "use_by": ago(-1)}
NO: dict[str, Any] = {"decision": "rejected", "decided_at": ago(0), "decided_by": "Ana", "ended": "rejected"}
NO |= {"ended_at": ago(0)}


class Clock:
    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


class House:
    """The system, two stale tickets among four, and a browser that has signed in."""

    def __init__(self, system: System, clock: Clock) -> None:
        self.system, self.clock, self.spent = system, clock, 0
        self.browser = self.signed_in(COOKIE)

    def signed_in(self, cookie: str) -> httpx.AsyncClient:
        """COOKIE is "Ops <On-Call>", OTHER_COOKIE is "Ana"; LOOKER_COOKIE may look, and decide nothing."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self._counted),
            base_url="http://localhost",
            cookies={"session": cookie},
            headers={"accept": "text/html,*/*;q=0.8"},
        )

    async def _counted(self, scope: Any, receive: Any, send: Any) -> None:
        with invocation.begin("trace") as own:
            await self.system.litestar(scope, receive, send)
        self.spent = own.statements

    async def page(self, path: str = "/") -> str:
        answer = await self.browser.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def sweep(self) -> None:
        await self.system.host.get("triager", "main").call("sweep")

    async def asked(self) -> list[str]:
        page = await self.system.db.read(approvals.listing, self.clock())
        return sorted((one.id for one in page.pending), key=lambda id_: int(id_.removeprefix("id")))

    async def post(self, path: str, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
        """As a form does it: with the token that the page carries, and the mark of the request that it shows."""
        shown = {"_csrf": csrf_of(await self.page())}
        if found := re.fullmatch(r"/console/approvals/([\w-]+)/(approve|reject)", path):
            shown["fingerprint"] = await self.system.db.read(_shown, found[1])
        answer = await self.browser.post(path, data={**shown, **fields}, headers=headers)
        await self.system.host.drain()
        return answer

    async def press(self, path: str, **fields: Any) -> str:
        """The page that a form's answer leads to."""
        answer = await self.post(path, **fields)
        assert answer.status_code == 303, answer.text
        return await self.page(answer.headers["location"])


@contextmanager
def opened(folder: Path, now: datetime) -> Iterator[House]:
    """On the database that is in the folder."""
    ids, clock = count(1), Clock(now)
    key = base64.b64encode(bytes(32)).decode()
    settings = Settings(data_dir=folder, app_key=key, secure_cookies=False)
    system = build(settings, clock=clock, new_id=lambda: f"id{next(ids)}")
    asyncio.run(system.db.write(furnish, now))
    yield House(system, clock)
    system.close()


def furnish(session: Session, now: datetime) -> None:
    people: tuple[tuple[str, str, list[str]], ...] = (
        (COOKIE, "Ops <On-Call>", ["operate"]),
        (OTHER_COOKIE, "Ana", ["operate"]),
        (LOOKER_COOKIE, "Lou", []),
    )
    for cookie, name, abilities in people:
        user_id = an_operator(session, name=name, email=f"{cookie[0]}@example.test", abilities=abilities)
        hashed = tokens.hashed(cookie)
        sessions.start(session, hashed, now, user_id=user_id, token_id=None, ttl_s=24 * HOURS, old=None)
    a_ticket(session, title="Login page 500s on Safari")
    a_ticket(session, title="<script>alert(1)</script>")
    a_ticket(session, title="Docs typo in the quickstart", age_days=1)
    a_ticket(session, title="Billing webhook retry storm", status="closed", closed_at=ago(1))


def _shown(session: Session, request_id: str) -> str:
    return session.scalar(select(ApprovalRow.shown).where(ApprovalRow.id == request_id)) or ""


def csrf_of(html: str) -> str:
    found = re.search(r'name="_csrf" value="([0-9a-f]{64})"', html)
    assert found
    return found[1]


def words(html: str) -> str:
    """What a reader sees."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).strip()


def card(html: str, request_id: str) -> str:
    return next(part for part in html.split("<article")[1:] if f'id="card-{request_id}"' in part).split("</article>")[0]


def order(html: str) -> list[str]:
    """The ids of the requests whose cards a page shows."""
    return re.findall(r'<article class="card[^"]*" id="card-([^"]+)"', html)


def mark(html: str, request_id: str) -> str:
    """The fingerprint that a card's form sends back."""
    found = re.search(r'name="fingerprint" value="([^"]+)"', card(html, request_id))
    assert found
    return found[1]


async def swept(house: House) -> tuple[str, str]:
    """The two requests that a sweep asks."""
    await house.sweep()
    first, second = await house.asked()
    return first, second
