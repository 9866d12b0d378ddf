"""What should a sweep do? Arithmetic, so it is tested without a database, a host or a clock."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agents.sweep_plan import Parked, Plan, Ticket, plan_sweep
from app.domain import Speaker
from app.runtime.invocation import STATEMENT_LIMIT
from config.triage import POLICY

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
SOON, PAST = NOW + timedelta(hours=1), NOW - timedelta(hours=1)
CAP = POLICY["max_asks_per_sweep"]


def stale(*ids: int, version: int = 1, last_speaker: Speaker = Speaker.OPERATOR) -> list[Ticket]:
    return [Ticket(ticket_id, version, last_speaker) for ticket_id in ids]


def parked(*ids: int, version: int = 1) -> list[Parked]:
    return [Parked(f"request-{ticket_id}", ticket_id, version) for ticket_id in ids]


def plan(tickets: list[Ticket], **given: Any) -> Plan:
    nothing: Mapping[str, Any] = {"complete": True, "parked": [], "declined": {}, "cooling": {}, "now": NOW, "cap": CAP}
    return plan_sweep(tickets, **(nothing | given))


def asked(tickets: list[Ticket], **given: Any) -> list[int]:
    return [ticket.id for ticket in plan(tickets, **given).ask]


def test_stale_tickets_are_asked_about_in_the_order_of_the_list() -> None:
    assert asked(stale(2, 3, 7)) == [2, 3, 7]


def test_no_stale_ticket_no_question() -> None:
    assert plan([]) == Plan([], [])


def test_the_cap_takes_the_first_ones() -> None:
    assert asked(stale(*range(1, CAP + 6))) == list(range(1, CAP + 1))


def test_a_capped_sweep_fits_the_statements_of_one_invocation() -> None:
    pages, withdrawals = 5, 2
    assert pages + withdrawals + 2 * CAP < STATEMENT_LIMIT


def test_a_ticket_that_waits_already_is_not_asked_again() -> None:
    assert asked(stale(1, 2), parked=parked(1)) == [2]


@pytest.mark.parametrize(("until", "asks"), [(None, []), (SOON, []), (NOW, [1]), (PAST, [1])])
def test_a_declined_ticket_is_left_alone_until_its_time_and_for_ever_without_one(
    until: datetime | None, asks: list[int]
) -> None:
    assert asked(stale(1), declined={1: until}) == asks


@pytest.mark.parametrize(("until", "asks"), [(SOON, []), (NOW, [1]), (PAST, [1])])
def test_a_ticket_nobody_answered_about_cools_down(until: datetime, asks: list[int]) -> None:
    assert asked(stale(1), cooling={1: until}) == asks


@pytest.mark.parametrize(("speaker", "asks"), [(Speaker.OPERATOR, [1]), (Speaker.NONE, [1]), (Speaker.REQUESTER, [])])
def test_a_requester_who_waits_for_us_is_not_told_that_we_close(speaker: Speaker, asks: list[int]) -> None:
    assert asked(stale(1, last_speaker=speaker)) == asks


def test_a_request_whose_ticket_is_at_another_version_is_withdrawn() -> None:
    assert plan(stale(1, version=2) + stale(2), parked=parked(1, 2)).withdraw == ["request-1"]


def test_a_request_whose_ticket_is_no_longer_stale_is_withdrawn() -> None:
    assert plan(stale(2), parked=parked(1, 2)).withdraw == ["request-1"]


def test_a_ticket_beyond_the_pages_that_were_read_is_not_known_to_have_moved() -> None:
    assert plan(stale(1, 5), parked=parked(3, 9), complete=False).withdraw == ["request-3"]


def test_a_sweep_that_saw_nothing_withdraws_nothing() -> None:
    assert plan([], parked=parked(1), complete=False).withdraw == []


def test_a_complete_list_without_stale_tickets_withdraws_every_request() -> None:
    assert plan([], parked=parked(1, 2)).withdraw == ["request-1", "request-2"]


def test_what_a_broken_off_run_had_begun_comes_first_and_counts_against_its_cap() -> None:
    assert asked(stale(1, 2, 3, 4), begun=(3, 2), cap=3) == [3, 2, 1]


def test_a_broken_off_run_takes_up_its_own_questions_although_they_wait() -> None:
    assert asked(stale(1, 2, 3), begun=(1, 2), cap=2, parked=parked(1)) == [1, 2]


def test_a_begun_ticket_that_is_stale_no_more_is_dropped_and_still_counted() -> None:
    assert asked(stale(2, 3), begun=(1,), cap=2) == [2]


IDS = st.sets(st.integers(1, 40), max_size=30).map(sorted)


@given(st.data())
def test_no_plan_exceeds_its_cap_asks_twice_or_asks_what_it_must_not(data: st.DataObject) -> None:
    tickets, waiting, declined, cooling = (data.draw(IDS) for _ in range(4))
    cap = data.draw(st.integers(0, 12))
    begun = tuple(data.draw(IDS)[:cap])
    ids = asked(
        stale(*tickets),
        parked=parked(*waiting),
        declined=dict.fromkeys(declined),
        cooling=dict.fromkeys(cooling, SOON),
        begun=begun,
        cap=cap,
    )
    assert len(ids) <= cap
    assert len(set(ids)) == len(ids)
    assert set(ids) <= set(tickets)
    assert not (set(ids) - set(begun)) & {*waiting, *declined, *cooling}
