"""What a person said no to is found behind any number of later requests."""

from typing import Any

import pytest
from sqlalchemy.orm import Session
from support import ago, an_approval
from support_console import House

from app.services import approvals

pytestmark = pytest.mark.anyio


async def test_the_newest_twenty_are_found_and_those_whose_time_is_over_are_not_among_them(house: House) -> None:
    for number in range(1, 26):
        await house.system.db.write(_declined, number, until_at=ago(0) if number == 25 else None)
    for number in range(26, 60):
        await house.system.db.write(an_approval, number, requested_at=ago(1), ended="expired")
    page = await house.system.db.read(approvals.listing, house.clock())
    assert [one.subject for one in page.declined] == [f"ticket:{number}" for number in range(24, 4, -1)]
    assert {one.status for one in page.resolved} == {"expired"}


def _declined(session: Session, number: int, **columns: Any) -> None:
    an_approval(session, number, requested_at=ago(40 - number), decision="rejected", ended="rejected", **columns)
