"""What should a sweep do, and why? Arithmetic, so it is tested without a database, a host or a clock."""

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, structs

from app.agents.policy import Policy
from app.agents.sweep_plan import TITLE_SHOWN, Memory, No, Parked, Plan, Ticket, Word, plan_sweep
from app.domain import Priority, Speaker, Status
from app.runtime.invocation import STATEMENT_LIMIT
from config.triage import POLICY

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
SOON, PAST = NOW + timedelta(hours=1), NOW - timedelta(hours=1)
DEFAULT = convert(POLICY, Policy)
CAP = DEFAULT.max_asks_per_sweep
LIMIT = NOW - timedelta(days=DEFAULT.stale_after_days)
MANY = 1_000


def stale(number: int = 1, **columns: Any) -> Ticket:
    """An open ticket, quiet for 12 days, whose last word was an operator's."""
    asked = Ticket(
        id=number,
        title=f"Ticket {number}",
        version=1,
        status=Status.OPEN,
        priority=Priority.NORMAL,
        assignee=None,
        labels=[],
        last_activity_at=NOW - timedelta(days=12),
        last_speaker=Speaker.OPERATOR,
        protected_until=None,
    )
    return structs.replace(asked, **columns)


def tickets(*numbers: int, **columns: Any) -> list[Ticket]:
    return [stale(number, **columns) for number in numbers]


def waits(*numbers: int, version: int | None = 1) -> dict[int, Parked]:
    return {number: Parked(f"request-{number}", version) for number in numbers}


def plan(stretch: list[Ticket], others: list[Ticket] | None = None, **given: Any) -> Plan:
    remembered = {name: given.pop(name, {}) for name in Memory._fields}
    policy = structs.replace(DEFAULT, **{name: given.pop(name) for name in Policy.__struct_fields__ if name in given})
    room = given.pop("room", MANY)
    return plan_sweep(stretch, others or [], memory=Memory(**remembered), policy=policy, now=NOW, room=room, **given)


def asked(stretch: list[Ticket], others: list[Ticket] | None = None, **given: Any) -> list[int]:
    return [ticket.id for ticket in plan(stretch, others, **given).ask]


def words(found: Plan) -> dict[int, str]:
    return {one.ticket_id: one.verdict for one in found.verdicts}


def verdict(ticket: Ticket, **given: Any) -> tuple[str, str]:
    """The word for one ticket of the stretch, and the reason."""
    [one] = plan([ticket], **given).verdicts
    return one.verdict, one.reason


# Each word, in the order in which one wins over the next


@pytest.mark.parametrize(
    ("ticket", "word", "reason"),
    [
        ({"status": Status.CLOSED}, "closed", "it is closed"),
        ({"protected_until": SOON}, "protected", "protected until 2026-03-09 13:00 UTC"),
        ({"labels": ["bug", "keep-open"]}, "exempt", 'the label "keep-open" is exempt'),
        ({"priority": Priority.URGENT}, "exempt", "priority urgent is exempt"),
        ({"last_activity_at": PAST}, "active", "active 2026-03-09 11:00 UTC, stale after 7 days"),
        ({"last_activity_at": LIMIT}, "active", "active 2026-03-02 12:00 UTC, stale after 7 days"),
        ({"last_speaker": Speaker.REQUESTER}, "waiting on us", "the requester spoke last, and nobody has answered"),
        ({}, "ask", "no activity for 12 days; an operator spoke last"),
        ({"last_speaker": Speaker.NONE}, "ask", "no activity for 12 days; who spoke last is not known"),
        (
            {"last_activity_at": LIMIT - timedelta(milliseconds=1)},
            "ask",
            "no activity for 7 days; an operator spoke last",
        ),
        ({"protected_until": NOW}, "ask", "no activity for 12 days; an operator spoke last"),
        ({"protected_until": PAST}, "ask", "no activity for 12 days; an operator spoke last"),
    ],
)
def test_what_a_ticket_is_decides_unless_a_person_has_said_something(
    ticket: dict[str, Any], word: Word, reason: str
) -> None:
    assert verdict(stale(**ticket)) == (word, reason)


@pytest.mark.parametrize(
    ("no", "reason"),
    [
        (No(None), "a person wants it left open for good"),
        (No(None, "They pay us."), "a person wants it left open for good: They pay us."),
        (No("2026-04-01T00:00:00.000Z"), "a person wants it left open until 2026-04-01"),
        (No("2026-03-09T15:30:00.000Z"), "a person wants it left open until 2026-03-09 15:30 UTC"),
        (No("2026-04-01T00:00:00.000Z", "On leave"), "a person wants it left open until 2026-04-01: On leave"),
    ],
)
def test_a_no_that_stands_is_told_with_its_reason_and_its_end(no: No, reason: str) -> None:
    assert verdict(stale(), declined={1: no}) == ("declined", reason)


@pytest.mark.parametrize(("until", "word"), [(SOON, "cooling"), (NOW, "ask"), (PAST, "ask")])
def test_a_ticket_nobody_answered_about_cools_down_until_its_time(until: datetime, word: Word) -> None:
    assert verdict(stale(), cooling={1: until})[0] == word


def test_how_long_it_cools_down_is_told() -> None:
    told = ("cooling", "nobody answered the last question; not asked again before 2026-03-09 13:00 UTC")
    assert verdict(stale(), cooling={1: SOON}) == told


def test_exempt_assignees_are_the_policys() -> None:
    assert verdict(stale(assignee="Jo"), exempt_assignees=["Jo"]) == ("exempt", "Jo's tickets are exempt")
    assert verdict(stale(assignee="Jo"), exempt_assignees=["Al"])[0] == "ask"
    assert verdict(stale(assignee=None), exempt_assignees=["Jo"])[0] == "ask"


def test_of_several_exempt_labels_the_same_one_is_always_named() -> None:
    told = ("exempt", 'the label "a" is exempt')
    assert verdict(stale(labels=["c", "b", "a"]), exempt_labels=["b", "c", "a"]) == told


def test_a_policy_may_ask_about_who_waits_for_an_answer() -> None:
    told = ("ask", "no activity for 12 days; the requester spoke last")
    assert verdict(stale(last_speaker=Speaker.REQUESTER), spare_unanswered=False) == told


def test_what_protects_a_ticket_is_told_before_what_people_have_said() -> None:
    everything = stale(
        protected_until=SOON,
        labels=["keep-open"],
        priority=Priority.URGENT,
        last_activity_at=PAST,
        last_speaker=Speaker.REQUESTER,
    )
    unprotected = structs.replace(everything, protected_until=None)
    unlabelled = structs.replace(unprotected, labels=[])
    usual = structs.replace(unlabelled, priority=Priority.NORMAL)
    quiet = structs.replace(usual, last_activity_at=NOW - timedelta(days=12))
    answered = structs.replace(quiet, last_speaker=Speaker.OPERATOR)
    said = {"declined": {1: No(None)}, "cooling": {1: SOON}}
    closed = structs.replace(everything, status=Status.CLOSED)
    in_turn = [closed, everything, unprotected, unlabelled, usual, quiet, answered]
    expected = ["closed", "protected", "exempt", "exempt", "active", "waiting on us", "declined"]
    assert [verdict(ticket, **said)[0] for ticket in in_turn] == expected


# What waits for a person already


def test_a_ticket_that_waits_as_it_was_asked_is_left_waiting() -> None:
    found = plan([stale()], parked=waits(1))
    assert (found.ask, found.withdraw, words(found)) == ([], {}, {1: "waiting"})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "it has changed since it was asked"),
        ({"status": Status.CLOSED, "version": 2}, "it is closed"),
        ({"protected_until": SOON, "version": 2}, "protected until 2026-03-09 13:00 UTC"),
        ({"labels": ["keep-open"], "version": 2}, 'the label "keep-open" is exempt'),
        ({"priority": Priority.URGENT, "version": 2}, "priority urgent is exempt"),
        ({"last_activity_at": PAST, "version": 2}, "active 2026-03-09 11:00 UTC, stale after 7 days"),
        (
            {"last_speaker": Speaker.REQUESTER, "version": 2},
            "the requester spoke last, and nobody has answered",
        ),
    ],
)
@pytest.mark.parametrize("in_stretch", [True, False])
def test_a_question_that_is_moot_is_withdrawn_wherever_its_ticket_is(
    change: dict[str, Any], reason: str, in_stretch: bool
) -> None:
    ticket = stale(**change)
    found = plan([ticket] if in_stretch else [], [] if in_stretch else [ticket], parked=waits(1))
    assert found.withdraw == {1: "request-1"}
    assert [(one.verdict, one.reason) for one in found.verdicts] == [("withdraw", reason)]
    assert found.ask == []


def test_a_policy_that_changed_takes_back_what_it_would_not_ask_now() -> None:
    """The version is the same: only the policy knows."""
    assert plan([stale(assignee="Jo")], parked=waits(1), exempt_assignees=["Jo"]).withdraw == {1: "request-1"}


def test_what_waits_for_a_ticket_that_is_gone_is_withdrawn() -> None:
    found = plan([], absent=[7], parked=waits(7))
    assert found.withdraw == {7: "request-7"}
    assert [(one.ticket_id, one.verdict, one.reason) for one in found.verdicts] == [
        (7, "withdraw", "there is no such ticket any more")
    ]


def test_a_question_that_cannot_be_read_waits_unless_its_ticket_is_moot() -> None:
    unreadable = waits(1, 2, version=None)
    found = plan([stale(1, version=9), stale(2, status=Status.CLOSED)], parked=unreadable)
    assert (words(found), found.withdraw) == ({1: "waiting", 2: "withdraw"}, {2: "request-2"})


def test_what_a_person_refused_or_left_unanswered_before_does_not_touch_what_waits() -> None:
    found = plan([stale()], parked=waits(1), declined={1: No(None)}, cooling={1: SOON})
    assert words(found) == {1: "waiting"}


# The cap, and where the next sweep begins


def test_no_stale_ticket_no_question() -> None:
    assert plan([]) == Plan([], [], {}, None)


def test_tickets_are_asked_about_in_the_order_of_the_stretch() -> None:
    assert asked(tickets(7, 2, 3)) == [7, 2, 3]


def test_a_stretch_with_places_for_all_leaves_nothing() -> None:
    assert plan(tickets(*range(CAP))).left is None


def test_the_stretch_ends_before_the_first_ticket_that_has_no_place() -> None:
    found = plan(tickets(*range(1, CAP + 6)))
    assert [ticket.id for ticket in found.ask] == list(range(1, CAP + 1))
    assert found.left == CAP
    assert [one.verdict for one in found.verdicts] == ["ask"] * CAP + ["later"] * 5


def test_only_who_is_asked_takes_a_place() -> None:
    """Behind the last place, who would not be asked anyway is still considered."""
    stretch = [
        *tickets(*range(100, 130), last_speaker=Speaker.REQUESTER),
        *tickets(*range(1, CAP + 1)),
        *tickets(*range(200, 230), labels=["keep-open"]),
    ]
    found = plan([*stretch, stale(999), *tickets(*range(300, 310))])
    assert [ticket.id for ticket in found.ask] == list(range(1, CAP + 1))
    assert found.left == len(stretch)
    assert plan(stretch).left is None


def test_behind_the_stretchs_end_nothing_is_judged_but_what_waits() -> None:
    behind = [
        stale(10),
        stale(11, status=Status.CLOSED),
        stale(12, last_speaker=Speaker.REQUESTER),
        stale(13),
        stale(14, version=2),
    ]
    found = plan(
        [stale(1), *behind], max_asks_per_sweep=1, parked=waits(13, 14), declined={10: No(None)} | {12: No(None)}
    )
    assert words(found) == {1: "ask", 10: "declined", 11: "closed", 12: "waiting on us", 13: "waiting", 14: "withdraw"}
    found = plan([stale(1), stale(2), *behind], max_asks_per_sweep=1, parked=waits(13, 14))
    assert words(found) == {
        **{1: "ask", 2: "later", 10: "later", 11: "later", 12: "later"},
        **{13: "waiting", 14: "withdraw"},
    }


def test_what_is_left_for_later_is_told_by_why() -> None:
    full, crowded = plan(tickets(1, 2), max_asks_per_sweep=1), plan(tickets(1, 2), room=1)
    assert full.verdicts[1].reason == "this sweep has asked its 1; the next one begins here"
    assert crowded.verdicts[1].reason == "waiting for people: as many questions are open as may be"


@pytest.mark.parametrize(("room", "ids"), [(0, []), (1, [1]), (CAP, [*range(1, CAP + 1)]), (99, [*range(1, CAP + 1)])])
def test_no_more_is_asked_than_may_wait_for_people(room: int, ids: list[int]) -> None:
    assert asked(tickets(*range(1, CAP + 3)), room=room) == ids


def test_a_capped_sweep_fits_the_statements_of_one_invocation() -> None:
    pages, look_again, verify, withdrawals = 5, 1, 1, 2
    assert pages + look_again + verify + withdrawals + 2 * CAP < STATEMENT_LIMIT


# A run that a crash broke off


def test_a_broken_off_run_takes_up_its_own_questions_although_they_wait() -> None:
    found = plan(tickets(1, 2, 3), begun=(1, 2), max_asks_per_sweep=2, parked=waits(1))
    assert [ticket.id for ticket in found.ask] == [1, 2]
    assert words(found) == {1: "ask", 2: "ask", 3: "later"}
    assert found.left == 2


def test_what_a_broken_off_run_had_begun_counts_against_its_cap() -> None:
    assert asked(tickets(1, 2, 3, 4), begun=(2, 3), max_asks_per_sweep=3) == [1, 2, 3]


def test_a_begun_ticket_that_is_stale_no_more_is_dropped_and_still_counted() -> None:
    assert asked(tickets(2, 3), begun=(1,), max_asks_per_sweep=2) == [2]


def test_a_begun_question_outside_the_stretch_is_taken_up_too() -> None:
    assert asked([], tickets(5), begun=(5,), parked=waits(5)) == [5]


def test_a_begun_question_that_is_moot_by_now_is_withdrawn_and_not_asked() -> None:
    found = plan([stale(1, version=2)], begun=(1,), parked=waits(1))
    assert (found.ask, found.withdraw) == ([], {1: "request-1"})


def test_a_begun_question_that_waits_takes_no_second_place_of_those_that_may_wait() -> None:
    """`room` counts it already: it waits."""
    assert asked(tickets(1, 2, 3), begun=(1,), parked=waits(1), room=1) == [1, 2]


# Whatever comes


def test_a_verdict_shows_no_more_of_a_title_than_fits_a_line() -> None:
    [one] = plan([stale(title="x" * 256)]).verdicts
    assert one.title == "x" * TITLE_SHOWN


NUMBERS = st.sets(st.integers(1, 40), max_size=30).map(sorted)


@st.composite
def some_tickets(draw: st.DrawFn, numbers: list[int]) -> list[Ticket]:
    return [
        stale(
            number,
            version=draw(st.integers(1, 2)),
            status=draw(st.sampled_from(Status)),
            priority=draw(st.sampled_from(Priority)),
            labels=draw(st.lists(st.sampled_from(["bug", "keep-open"]), max_size=2)),
            last_activity_at=draw(st.sampled_from([PAST, LIMIT, NOW - timedelta(days=12)])),
            last_speaker=draw(st.sampled_from(Speaker)),
            protected_until=draw(st.sampled_from([None, PAST, SOON])),
        )
        for number in numbers
    ]


@given(st.data())
def test_every_plan_has_a_reason_for_each_ticket_and_keeps_its_cap_and_asks_only_what_it_may(
    data: st.DataObject,
) -> None:
    seen = data.draw(some_tickets(data.draw(NUMBERS)))
    parked, declined, cooling = (data.draw(NUMBERS) for _ in range(3))
    split = data.draw(st.integers(0, len(seen)))
    stretch, others = seen[:split], [ticket for ticket in seen[split:] if ticket.id in parked]
    cap, room = data.draw(st.integers(1, 12)), data.draw(st.integers(0, 12))
    begun = tuple(data.draw(NUMBERS)[:cap])
    absent = [number for number in parked if number not in {ticket.id for ticket in seen}]
    found = plan(
        stretch,
        others,
        absent=absent,
        parked=waits(*parked),
        declined=dict.fromkeys(declined, No(None)),
        cooling=dict.fromkeys(cooling, SOON),
        begun=begun,
        max_asks_per_sweep=cap,
        room=room,
    )
    ids = [ticket.id for ticket in found.ask]
    fresh = [number for number in ids if number not in begun]
    assert [one.ticket_id for one in found.verdicts] == [*(ticket.id for ticket in (*stretch, *others)), *absent]
    assert all(one.reason and one.verdict in get_args(Word) for one in found.verdicts)
    assert len(set(ids)) == len(ids) <= cap
    assert len(fresh) <= min(cap - len(begun), room)
    assert not {*fresh} & {*parked}
    assert not ({*ids} - {*parked}) & {*declined, *cooling}
    for ticket in found.ask:
        assert ticket.status == Status.OPEN
        assert "keep-open" not in ticket.labels
        assert ticket.priority != Priority.URGENT
        assert ticket.last_speaker != Speaker.REQUESTER
        assert ticket.last_activity_at < LIMIT
        assert ticket.protected_until != SOON
    assert found.withdraw == {n: f"request-{n}" for n, word in words(found).items() if word == "withdraw"}
    if found.left is not None:
        assert found.verdicts[found.left].verdict == "later"
        assert {one.verdict for one in found.verdicts[: found.left]} & {"later"} == set()
