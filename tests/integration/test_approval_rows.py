"""An approval as its caller meets it: every verdict is the row that one conditional statement gave back."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from app.runtime.tools.approvals import Status
from app.services import approval_gate, approvals
from app.services.approval_rows import status_of
from db.engine import Database
from db.schema import ApprovalRow, EventRow
from tests.support import NOW, OPERATOR, TRIAGER, a_spent_approval, ago, an_approval

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)
YES: dict[str, Any] = {"decision": "approved", "decided_at": ago(0), "use_by": ago(-1)}
OVER = NOW + timedelta(days=1)  # the moment that yes is over
STANDS: dict[Status, dict[str, Any]] = {
    "pending": {},
    "approved": YES,
    "spent": YES | {"claim_id": "mine", "consumed_at": ago(0)},
    "lapsed": {"expires_at": ago(0)},
    "used": YES | {"claim_id": "mine", "consumed_at": ago(0), "ended": "used"},
    "rejected": {"decision": "rejected", "ended": "rejected"},
    "expired": {"ended": "expired"},
    "cancelled": {"ended": "cancelled"},
    "unknown": YES | {"claim_id": "mine", "consumed_at": ago(0), "ended": "unknown"},
}
ENDED = [word for word, columns in STANDS.items() if "ended" in columns]


async def row_of(database: Database, request_id: str) -> ApprovalRow:
    return await database.read(lambda s: s.execute(select(ApprovalRow).filter_by(id=request_id)).scalar_one())


@pytest.mark.parametrize("status", STANDS)
async def test_how_a_request_stands_follows_from_its_row_and_the_clock(database: Database, status: Status) -> None:
    request = await database.write(an_approval, **STANDS[status])
    assert status_of(await row_of(database, request), NOW) == status
    [found] = (await database.read(approval_gate.statuses, [request, "nobody"], NOW)).values()
    assert (found.id, found.status, found.spent) == (request, status, "claim_id" in STANDS[status])


@pytest.mark.parametrize(
    ("columns", "at", "status"),
    [
        ({"expires_at": ago(-3)}, NOW + timedelta(days=3) - SECOND, "pending"),
        ({"expires_at": ago(-3)}, NOW + timedelta(days=3), "lapsed"),
        (YES | {"expires_at": ago(0)}, OVER - SECOND, "approved"),
        (YES | {"expires_at": ago(-9)}, OVER, "lapsed"),
        (STANDS["spent"], OVER + timedelta(days=365), "spent"),
    ],
)
async def test_time_ends_questions_and_yeses_but_not_a_call_being_carried_out(
    database: Database, columns: dict[str, Any], at: datetime, status: Status
) -> None:
    request = await database.write(an_approval, **columns)
    assert status_of(await row_of(database, request), at) == status


async def test_only_a_live_yes_can_be_spent_and_only_by_one_claim(database: Database) -> None:
    request = await database.write(an_approval, **YES)
    assert [
        await database.write(approval_gate.consume, request, claim, at)
        for claim, at in [("mine", OVER - SECOND), ("theirs", NOW), ("mine", OVER + timedelta(days=9))]
    ] == [True, False, True]
    row = await row_of(database, request)
    assert (row.claim_id, row.consumed_at) == ("mine", "2026-03-10T11:59:59.000Z")  # the first time


@pytest.mark.parametrize("status", ["pending", "lapsed", *ENDED])
async def test_nothing_else_can_be_spent(database: Database, status: Status) -> None:
    request = await database.write(an_approval, **STANDS[status])
    assert not await database.write(approval_gate.consume, request, "mine", NOW)


async def test_a_yes_is_over_at_its_deadline_and_not_before(database: Database) -> None:
    request = await database.write(an_approval, **YES)
    assert not await database.write(approval_gate.lapse, request, OVER - SECOND)
    assert not await database.write(approval_gate.consume, request, "mine", OVER)
    assert await database.write(approval_gate.lapse, request, OVER)
    assert not await database.write(approval_gate.lapse, request, OVER)
    assert (await row_of(database, request)).ended == "expired"


@pytest.mark.parametrize("status", ["pending", "approved", "spent", *ENDED])
async def test_only_what_its_time_has_left_behind_expires(database: Database, status: Status) -> None:
    """A call being carried out has no time to run out of."""
    request = await database.write(an_approval, **STANDS[status])
    at = OVER if status == "spent" else NOW
    assert not await database.write(approval_gate.lapse, request, at)


@pytest.mark.parametrize("status", STANDS)
async def test_an_end_is_written_once(database: Database, status: Status) -> None:
    request = await database.write(an_approval, **STANDS[status])
    assert await database.write(approval_gate.end, request, "refused", NOW) == (status not in ENDED)
    assert (await row_of(database, request)).ended == (status if status in ENDED else "cancelled")


async def test_a_tombstone_stands_only_where_nothing_was(database: Database) -> None:
    request = await database.write(an_approval)
    assert not await database.write(approval_gate.fence, request, "tickets_close", TRIAGER.key, NOW)
    assert await database.write(approval_gate.fence, "lost", "tickets_close", TRIAGER.key, NOW)
    assert not await database.write(approval_gate.fence, "lost", "tickets_close", TRIAGER.key, NOW)
    page = await database.read(approvals.listing, NOW)
    assert [one.id for one in page.pending + page.resolved] == [request]


async def test_a_caller_withdraws_its_own_unspent_unanswered_or_approved_requests(database: Database) -> None:
    for version, columns in enumerate(STANDS.values(), start=1):
        await database.write(an_approval, 1, version, **columns)
    theirs = await database.write(an_approval, 2, principal_key="agent:triager:other")
    ids = [f"request-1-{version}" for version in range(1, len(STANDS) + 1)]
    withdrawn = await database.write(approval_gate.withdraw, [*ids, theirs], TRIAGER.key, "moot", NOW)
    assert sorted(withdrawn) == ["request-1-1", "request-1-2", "request-1-4"]  # pending, approved, lapsed
    assert (await row_of(database, ids[0])).ended_reason == "withdrawn: moot"
    assert (await row_of(database, theirs)).ended is None
    events = await database.read(lambda s: list(s.scalars(select(EventRow).order_by(EventRow.request_id))))
    assert [(one.kind, one.actor, one.subject, one.request_id) for one in events] == [
        ("withdrawn", TRIAGER.key, "ticket:1", request) for request in sorted(withdrawn)
    ]
    assert events[0].data == {"reason": "withdrawn: moot"}
    assert await database.write(approval_gate.withdraw, ids, TRIAGER.key, "moot", NOW) == []


async def test_what_is_answered_and_ended_lately_or_not_at_all_is_still_to_be_delivered(database: Database) -> None:
    for version, columns in enumerate(STANDS.values(), start=1):
        await database.write(an_approval, 1, version, **columns)
    answered: dict[str, Any] = {"decision": "rejected", "decided_at": ago(1), "ended": "rejected"}
    await database.write(an_approval, 2, id="no of an hour ago", ended_at=ago(1 / 24), **answered)
    await database.write(an_approval, 3, id="no of yesterday", ended_at=ago(1), **answered)
    found = [request for _, request in await database.read(approval_gate.undelivered, NOW)]
    assert {"request-1-2", "request-1-3"} <= set(found)  # approved, spent
    assert "no of an hour ago" in found  # its agent may not have heard
    assert not {"request-1-1", "no of yesterday"} & set(found)


async def test_a_no_is_only_written_over_an_open_question(database: Database) -> None:
    request = await database.write(an_approval)
    await database.write(approvals.reject, request, by=OPERATOR, now=NOW, reason=None, until_at=None)
    assert not await database.write(approval_gate.end, request, "changed since asked", NOW)
    assert not await database.write(approval_gate.consume, request, "mine", NOW)
    assert await database.write(approval_gate.withdraw, [request], TRIAGER.key, "moot", NOW) == []


async def test_a_spent_yes_closes_nothing_once_it_has_ended(database: Database) -> None:
    request = await database.write(a_spent_approval)
    assert await database.write(approval_gate.end, request, "refused", NOW)
    assert not await database.write(approval_gate.consume, request, "claim-1", NOW)
