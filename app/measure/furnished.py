"""An installation to be measured: an operator signed in, stale tickets, and requests made as they are needed."""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from app.auth import cookies, csrf
from app.main import System
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from app.runtime.tools.approvals import NewRequest
from app.runtime.tools.fingerprint import fingerprint
from app.services import approval_gate, approvals, sessions, tokens
from app.services.users import OPERATE
from db import fixtures
from db.schema import TicketRow

TOKEN, COOKIE = "trg_measure_secret", "m" * cookies.SECRET_LENGTH
ASKER = Principal.agent("triager", "elsewhere")  # whose instance has no part in it
SOMEBODY = Principal("operator", "1", fixtures.NAME, frozenset({OPERATE}))
STALE_DAYS = 30


class Clock:
    """Stands still until it is moved: an agent's calls are limited by the minute."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def pass_minutes(self) -> None:
        self.at += timedelta(minutes=2)


class Furnished:
    """`bearer` and `browser` are the headers of the two ways in; forms carry `csrf`."""

    def __init__(self, system: System) -> None:
        self.system, self._numbers = system, count(1)
        name = cookies.session_name(system.settings.secure_cookies)
        self.bearer = {"authorization": f"Bearer {TOKEN}"}
        self.browser = {"cookie": f"{name}={COOKIE}", "accept": "text/html"}
        self.csrf = csrf.token(COOKIE)

    async def furnish(self) -> None:
        await self.system.db.write(_furnish, self.system.clock())

    async def ticket(self, **columns: Any) -> int:
        """A new stale ticket's id."""
        return (await self.system.db.write(_tickets, 1, self.system.clock(), columns))[0]

    async def tickets(self, number: int) -> list[int]:
        return await self.system.db.write(_tickets, number, self.system.clock(), {})

    async def request(self, answer: str | None = None) -> str:
        """A new request about a new ticket, of an agent whose instance is not here; answered if so wanted."""
        request_id, ticket_id = f"measured{next(self._numbers)}", await self.ticket()
        settings, now = self.system.settings, self.system.clock()
        question = _question(request_id, ticket_id)
        await self.system.db.write(approval_gate.ask, question, now, settings.approval_ttl_s)
        if answer == "approve":
            use_ttl_s = settings.approval_use_ttl_s
            await self.system.db.write(
                approvals.approve, request_id, by=SOMEBODY, now=now, reason=None, use_ttl_s=use_ttl_s
            )
        elif answer == "reject":
            await self.system.db.write(approvals.reject, request_id, by=SOMEBODY, now=now, reason=None, until_at=None)
        return request_id


def _furnish(session: Session, now: Any) -> None:
    fixtures.plant(session, now)
    later = now + timedelta(days=365)
    tokens.issue(session, TOKEN, now, name="measure", email=fixtures.EMAIL, scopes=[], expires_at=later)
    hashed = tokens.hashed(COOKIE)
    sessions.start(session, hashed, now, user_id=1, token_id=None, ttl_s=365 * 86_400, old=None)
    sessions.touch(session, hashed, later)  # else every third page would note that it was seen
    _tickets(session, 50, now, {})


def _tickets(session: Session, number: int, now: Any, columns: dict[str, Any]) -> list[int]:
    at = to_text(now - timedelta(days=STALE_DAYS))
    row = {"title": "Invoice export truncates", "requester": "Bo", "created_at": at, "updated_at": at}
    row |= {"last_activity_at": at, "last_speaker": "operator"} | columns
    return list(session.execute(insert(TicketRow).returning(TicketRow.id), [row] * number).scalars())


def _question(request_id: str, ticket_id: int) -> NewRequest:
    arguments = {"ticket_id": ticket_id, "version": 1}
    return NewRequest(
        id=request_id,
        tool="tickets_close",
        input=arguments,
        fingerprint=fingerprint(arguments),
        principal_key=ASKER.key,
        subject=f"ticket:{ticket_id}",
        preview={
            "summary": f'Closes ticket {ticket_id}, "Invoice export truncates".',
            "before": {"status": "open", "version": 1},
            "after": {"status": "closed", "version": 2},
        },
        open_max=10**6,
    )
