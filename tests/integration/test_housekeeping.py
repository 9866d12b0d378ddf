"""The nightly housekeeping: what is past its time goes, in small bites; what is still a memory stays."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select
from sqlalchemy.orm import Session
from structlog.testing import capture_logs

from app.cli import serving
from app.runtime.instants import to_text
from app.services import housekeeping
from app.services.housekeeping import APPROVALS_DAYS, BATCH, EVENTS_DAYS, tidy
from db.engine import Database
from db.schema import ApprovalRow, EventRow, SessionRow, SignInLinkRow
from tests.support import NOW, ago, an_approval, an_operator
from tests.world import a_world

pytestmark = pytest.mark.anyio

OLD, YOUNG = ago(APPROVALS_DAYS), to_text(NOW - timedelta(days=APPROVALS_DAYS) + timedelta(milliseconds=1))


def a_session(session: Session, name: str, expires_at: str) -> None:
    row = {"id": name, "user_id": 1, "created_at": ago(1), "last_seen_at": ago(1), "expires_at": expires_at}
    session.execute(insert(SessionRow).values(row))


def a_link(session: Session, name: str, expires_at: str) -> None:
    session.execute(insert(SignInLinkRow).values(id=name, user_id=1, expires_at=expires_at))


def some_events(session: Session, count: int, at: str) -> None:
    event = {"subject": "ticket:1", "kind": "edited", "actor": "operator:1", "data": {}, "at": at}
    session.execute(insert(EventRow), [event] * count)


async def left(database: Database, table: Any) -> list[Any]:
    return await database.read(lambda s: list(s.scalars(select(table.id).order_by(table.id))))


async def test_sessions_and_links_go_when_they_have_expired(database: Database) -> None:
    await database.write(an_operator)
    for name, expires_at in (("over", ago(0)), ("good", to_text(NOW + timedelta(milliseconds=1)))):
        await database.write(a_session, name, expires_at)
        await database.write(a_link, name, expires_at)
    assert await tidy(database, NOW) == {"sessions": 1, "links": 1, "approvals": 0, "events": 0}
    assert (await left(database, SessionRow), await left(database, SignInLinkRow)) == (["good"], ["good"])


async def test_requests_go_90_days_after_their_end_and_a_remembered_no_never(database: Database) -> None:
    asked: dict[str, dict[str, Any]] = {
        "used": {"ended": "used", "ended_at": OLD},
        "lapsed": {"expires_at": OLD},
        "no longer remembered": {"ended": "rejected", "ended_at": OLD, "until_at": ago(1)},
        "younger": {"ended": "used", "ended_at": YOUNG},
        "remembered": {"ended": "rejected", "ended_at": ago(4000)},
        "remembered until tomorrow": {"ended": "rejected", "ended_at": OLD, "until_at": ago(-1)},
        "being carried out": {"decision": "approved", "use_by": OLD, "claim_id": "mine"},
        "waiting": {},
    }
    for ticket, (name, columns) in enumerate(asked.items()):
        await database.write(an_approval, ticket, **{"id": name, **columns})
    assert (await tidy(database, NOW))["approvals"] == 3
    assert await left(database, ApprovalRow) == sorted(list(asked)[3:])


async def test_events_go_after_a_year_but_for_the_newest(database: Database) -> None:
    await database.write(some_events, 3, ago(EVENTS_DAYS))
    assert (await tidy(database, NOW))["events"] == 2
    assert await left(database, EventRow) == [3]
    await database.write(some_events, 2, ago(EVENTS_DAYS - 1))
    assert (await tidy(database, NOW))["events"] == 1
    assert await left(database, EventRow) == [4, 5]


async def test_however_much_there_is_to_do_a_transaction_does_a_little_and_the_work_gets_done(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.write(an_operator)
    await database.write(some_events, 2 * BATCH + 7, ago(400))
    await database.write(some_events, 1, ago(1))
    await database.write(lambda s: [a_session(s, str(n), ago(1)) for n in range(BATCH + 1)] and None)
    await database.write(lambda s: [an_approval(s, n, ended="used", ended_at=ago(400)) for n in range(BATCH)] and None)
    bites: list[int] = []
    write = database.write

    async def counted(batch: Any, *args: Any) -> Any:
        bites.append(await write(batch, *args))
        return bites[-1]

    monkeypatch.setattr(database, "write", counted)
    gone = {"sessions": BATCH + 1, "links": 0, "approvals": BATCH, "events": 2 * BATCH + 7}
    assert await tidy(database, NOW) == gone
    assert max(bites) == BATCH
    assert await tidy(database, NOW) == dict.fromkeys(gone, 0)


def test_the_bounds_are_those_that_are_told() -> None:
    assert (APPROVALS_DAYS, EVENTS_DAYS, BATCH, housekeeping.NIGHTLY) == (90, 365, 500, "0 3 * * *")


async def test_the_serving_process_does_it_once_a_night_and_says_so_in_one_line(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "LOOK_MAX_S", 0)
    async with a_world(tmp_path, migrated) as world:
        stop = asyncio.Event()
        with capture_logs() as logs:
            nights = asyncio.create_task(serving._tidy_nightly(world.system, stop))
            for hours, lines in ((14, 0), (1, 1), (23, 1), (1, 2), (72, 3)):  # from noon; three nights missed are one
                world.clock.advance(hours=hours)
                for _ in range(100):  # each lets it take one step
                    await asyncio.sleep(0)
                assert [line["event"] for line in logs] == ["housekeeping"] * lines
            stop.set()
            await nights
    assert set(logs[0]) == {"event", "log_level", "sessions", "links", "approvals", "events", "audit_days"}
