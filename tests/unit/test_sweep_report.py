"""What a sweep tells: what became of each ticket, sums that add up, and how far the pass is."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, structs

from app.agents.policy import Policy
from app.agents.sweep_plan import Memory, Plan, Ticket, Verdict, plan_sweep
from app.agents.sweep_report import UNANSWERED_KEPT, Kept, Progress, Summary, Told, outcomes, sum_up
from app.agents.sweep_view import View
from app.domain import COUNT_MAX, Priority, Speaker, Status
from app.runtime.tools.results import Denied, Done, Failed, Outcome, Pending, ToolResult
from config.triage import POLICY

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
DEFAULT = convert(POLICY, Policy)

ASKED = Pending("r", "tickets_close", "A person has been asked. Nothing was executed.")
CLOSED = Done(Outcome(200, {}))
MOVED = Done(Outcome(409, {"detail": "Ticket 2 is at version 4."}))
BROKEN = Failed("tickets_close answered 503: no")
REJECTED = Denied("approval", "A person has rejected this call: no.", rejected=True)
FULL = Denied("approval", "Waiting for people: 50 requests are open.", at_limit=True)
BUSY = Denied("rate-limit", "More than 30 calls in a minute.")
HALTED = Denied("halted", "Every agent is halted by Ops.")


def tickets(*numbers: int, last_speaker: Speaker = Speaker.OPERATOR) -> tuple[Ticket, ...]:
    """Stale, the lowest number quiet the longest."""
    quiet = NOW - timedelta(days=30)
    return tuple(
        Ticket(
            *(number, f"Ticket {number}", 1, Status.OPEN, Priority.NORMAL, None, []),
            *(quiet + timedelta(hours=number), last_speaker, None),
        )
        for number in numbers
    )


def view(stretch: tuple[Ticket, ...], **columns: Any) -> View:
    return structs.replace(View(Memory({}, {}, {}), stretch, stale=len(stretch)), **columns)


def plan(seen: View, cap: int = 10) -> Plan:
    policy = structs.replace(DEFAULT, max_asks_per_sweep=cap)
    return plan_sweep(seen.stretch, [], memory=seen.memory, policy=policy, now=NOW, room=99)


def told(seen: View, results: Mapping[int, ToolResult] | None = None, cap: int = 10) -> Told:
    """Each ticket asked about, unless there are results."""
    planned = plan(seen, cap)
    return outcomes(planned, (), dict.fromkeys((one.id for one in planned.ask), ASKED) if results is None else results)


def progress(seen: View, so_far: Progress | None = None, cap: int = 10) -> Progress:
    return sum_up(None, so_far or Progress(), seen, told(seen, cap=cap), NOW).progress


# What became of each ticket


@pytest.mark.parametrize(
    ("result", "word", "reason"),
    [
        (ASKED, "asked", "no activity for 29 days; an operator spoke last"),
        (CLOSED, "done", "no activity for 29 days; an operator spoke last"),
        (MOVED, "refused", "409: Ticket 2 is at version 4."),
        (BROKEN, "refused", "tickets_close answered 503: no"),
        (REJECTED, "refused", "A person has rejected this call: no."),
        *[(stop, "later", stop.message) for stop in (FULL, BUSY, HALTED)],
    ],
)
def test_a_result_becomes_the_tickets_verdict(result: ToolResult, word: str, reason: str) -> None:
    [verdict] = told(view(tickets(2)), {2: result}).verdicts
    assert (verdict.ticket_id, verdict.verdict, verdict.reason) == (2, word, reason)


def test_what_became_of_the_tickets_is_counted() -> None:
    results: dict[int, ToolResult] = {1: ASKED, 2: CLOSED, 3: MOVED, 4: ASKED, 5: REJECTED}
    assert told(view(tickets(1, 2, 3, 4, 5)), results)[1:] == (2, 1, 2)


@pytest.mark.parametrize("stop", [FULL, BUSY, HALTED])
def test_a_result_that_says_stop_leaves_its_ticket_and_all_behind_it_for_later(stop: Denied) -> None:
    seen = view((*tickets(1, 2, 3), *tickets(4, last_speaker=Speaker.REQUESTER)))
    found = told(seen, {1: ASKED, 2: stop})
    assert [one.verdict for one in found.verdicts] == ["asked", "later", "later", "waiting on us"]
    assert {one.reason for one in found.verdicts[1:3]} == {stop.message}
    assert found[1:] == (1, 0, 0)
    kept = sum_up(None, Progress(), seen, found, NOW)
    assert (kept.deferred, kept.progress.visited) == (3, 1)
    assert kept.progress.next == "2026-02-07T13:00:00.000Z_1"


@pytest.mark.parametrize("stop", [FULL, BUSY, HALTED])
def test_what_the_plan_had_left_for_later_is_left_for_the_stops_reason_too(stop: Denied) -> None:
    """It is the nearer one: nobody was asked who would have taken the last place."""
    found = told(view(tickets(*range(1, 8))), {1: ASKED, 2: stop}, cap=3)
    assert [one.verdict for one in found.verdicts] == ["asked"] + ["later"] * 6
    assert {one.reason for one in found.verdicts[1:]} == {stop.message}


def test_what_was_not_taken_back_still_waits() -> None:
    planned = Plan(
        [Verdict(number, "", "withdraw", "it has changed since it was asked") for number in (1, 2)],
        ask=[],
        withdraw={1: "first", 2: "second"},
        left=None,
    )
    found = outcomes(planned, ["second"], {})
    assert [one.verdict for one in found.verdicts] == ["waiting", "withdraw"]
    assert found.verdicts[0].reason == "it should be taken back, but has ended or been answered, or is halted"
    assert found.verdicts[1] == planned.verdicts[1]


def test_who_was_not_asked_keeps_the_plans_words() -> None:
    seen = view(tickets(1, 2, last_speaker=Speaker.REQUESTER))
    assert told(seen, {}).verdicts == plan(seen).verdicts


# The sums


def test_the_summary_counts_what_was_seen() -> None:
    kept = sum_up(None, Progress(), view(tickets(1, 2, 3), open=9), told(view(tickets(1, 2, 3)), {1: ASKED}), NOW)
    assert kept.summary == Summary(NOW, 9, 3, asked=1, closed=0, refused=0, deferred=2)


def test_a_ticket_that_left_the_count_while_the_pages_were_read_does_not_unbalance_the_sums() -> None:
    seen = view(tickets(1, 2), stale=0)
    kept = sum_up(None, Progress(), seen, told(seen), NOW)
    assert (kept.stale, kept.asked, kept.deferred) == (2, 2, 0)


def test_a_sweep_that_saw_nothing_says_why_and_keeps_its_place() -> None:
    so_far = Progress(3, 30, next="2026-02-07T13:00:00.000Z_1", unvisited_since=NOW, sweeps_for_all=9)
    kept = sum_up(None, so_far, view((), error="More than 30 calls in a minute."), Told([], 0, 0, 0), NOW)
    assert kept.summary == Summary(NOW, 0, 0, 0, 0, 0, 0, error="More than 30 calls in a minute.")
    assert kept.progress == so_far


def test_who_waits_for_us_is_listed_and_no_more_than_fit() -> None:
    waiting = tickets(*range(UNANSWERED_KEPT + 5), last_speaker=Speaker.REQUESTER)
    kept = sum_up(None, Progress(), view(waiting), told(view(waiting)), NOW)
    assert [one.ticket_id for one in kept.waiting_on_us] == list(range(UNANSWERED_KEPT))
    assert {one.verdict for one in kept.waiting_on_us} == {"waiting on us"}


def unanswered(
    last: Kept | None, *numbers: int, more: bool = False, cap: int = 10, asked: tuple[int, ...] = ()
) -> Kept:
    """The report of a sweep that meets these, whom nobody has answered, and behind them the `asked`."""
    so_far = last.progress if last and last.progress.next else Progress()
    seen = view((*tickets(*numbers, last_speaker=Speaker.REQUESTER), *tickets(*asked)), more=more)
    return sum_up(last, so_far, seen, told(seen, cap=cap), NOW)


def known(kept: Kept) -> tuple[list[int], list[int]]:
    """Whom its pass has met, and whom only the one before."""
    of_pass, before = ([one.ticket_id for one in some] for some in (kept.waiting_on_us, kept.from_before))
    return of_pass, before


def test_a_pass_knows_whom_it_met_and_until_its_end_whom_the_one_before_did() -> None:
    first = unanswered(None, 1, 2, more=True)
    second = unanswered(first, 8, 9)
    third = unanswered(second, 1, more=True)
    fourth = unanswered(third, 9)
    assert [known(one) for one in (first, second, third, fourth)] == [
        ([1, 2], []),
        ([1, 2, 8, 9], []),
        ([1], [2, 8, 9]),
        ([1, 9], []),
    ]


def test_one_who_is_met_twice_in_a_pass_is_told_once() -> None:
    assert known(unanswered(unanswered(None, 1, 2, more=True), 2)) == ([1, 2], [])


def test_one_who_was_met_and_is_asked_about_now_is_told_no_more() -> None:
    first = unanswered(None, 1, 2, more=True)
    assert known(unanswered(first, asked=(2,))) == ([1], [])
    assert known(unanswered(unanswered(first, 3), asked=(2,), more=True)) == ([], [1, 3])


def test_a_new_pass_that_considers_nobody_or_sees_nothing_forgets_nobody() -> None:
    before = unanswered(None, 1, 2)
    for _ in range(2):
        before = unanswered(before, asked=(5,), cap=0)
        assert known(before) == ([], [1, 2])
        before = sum_up(before, Progress(), view((), error="no"), Told([], 0, 0, 0), NOW)
        assert known(before) == ([], [1, 2])
    assert known(unanswered(before, 2)) == ([2], [])


def test_a_pass_in_which_nobody_is_left_forgets_all() -> None:
    assert known(unanswered(unanswered(None, 1, 2))) == ([], [])


def test_the_report_of_a_release_without_progress_is_read() -> None:
    flat = {"at": "2026-03-09T12:00:00.000Z", "open": 3, "stale": 2, "asked": 2, "closed": 0, "refused": 0}
    kept = convert(flat | {"deferred": 0, "error": None}, Kept)
    assert (kept.summary.asked, kept.progress, kept.waiting_on_us) == (2, Progress(), ())


RESULTS = st.sampled_from([ASKED, CLOSED, MOVED, BROKEN, REJECTED, FULL, BUSY, HALTED])


@given(st.lists(RESULTS, max_size=15), st.integers(0, 30), st.integers(0, 5), st.integers(1, 12), st.booleans())
def test_the_sums_add_up_and_the_place_is_before_the_first_that_is_left(
    results: list[ToolResult], counted: int, unanswered: int, cap: int, more: bool
) -> None:
    seen = view(
        (*tickets(*range(len(results))), *tickets(*range(50, 50 + unanswered), last_speaker=Speaker.REQUESTER)),
        stale=counted,
        more=more and bool(results),  # a page that has a next one has tickets
    )
    planned, made = plan(seen, cap), {}
    for ticket, result in zip(planned.ask, results, strict=False):  # as the triager asks: up to the first that stops
        made[ticket.id] = result
        if isinstance(result, Denied) and result.stops:
            break
    found = outcomes(planned, (), made)
    kept = sum_up(None, Progress(), seen, found, NOW)
    assert kept.stale == kept.asked + kept.closed + kept.refused + kept.deferred
    assert min(kept.asked, kept.closed, kept.refused, kept.deferred) >= 0
    assert all(one.reason for one in found.verdicts)
    words = [one.verdict for one in found.verdicts]
    visited = words.index("later") if "later" in words else len(words)
    assert kept.progress.visited == visited
    assert (kept.progress.next is None) == (visited == 0 or (visited == len(words) and not seen.more))


# The pass


def test_a_pass_that_one_sweep_finishes_begins_anew() -> None:
    assert progress(view(tickets(1, 2, 3))) == Progress(1, 3, next=None, unvisited_since=None, sweeps_for_all=1)


def test_a_pass_over_nothing_is_finished_too() -> None:
    assert progress(view(())) == Progress(1, 0, sweeps_for_all=1)


def test_the_next_sweep_begins_behind_the_last_ticket_that_was_considered() -> None:
    seen = view(tickets(1, 2, 3, 4), stale=40)
    assert progress(seen, cap=2) == Progress(
        sweeps=1,
        visited=2,
        next="2026-02-07T14:00:00.000Z_2",
        unvisited_since=seen.stretch[2].last_activity_at,
        sweeps_for_all=20,
    )


def test_what_is_behind_the_pages_was_active_no_earlier_than_the_last_that_was_read() -> None:
    seen = view(tickets(1, 2), more=True, stale=40)
    found = progress(seen)
    assert (found.next, found.unvisited_since) == ("2026-02-07T14:00:00.000Z_2", seen.stretch[1].last_activity_at)


def test_a_sweep_that_considers_nobody_keeps_the_place_of_the_one_before() -> None:
    so_far = Progress(2, 20, next="2026-02-07T13:00:00.000Z_1", sweeps_for_all=4)
    seen = view(tickets(2), stale=40)
    kept = sum_up(None, so_far, seen, told(seen, {2: HALTED}), NOW)
    assert (kept.progress.next, kept.progress.visited, kept.progress.sweeps) == (so_far.next, 20, 3)


@pytest.mark.parametrize(("stale", "at_least"), [(COUNT_MAX - 1, False), (COUNT_MAX, True)])
def test_where_no_more_are_counted_the_sweeps_for_all_are_at_least_so_many(stale: int, at_least: bool) -> None:
    assert progress(view(tickets(1, 2, 3), stale=stale), cap=2).at_least is at_least


def test_a_pass_that_is_over_took_what_it_took() -> None:
    assert progress(view(tickets(1, 2, 3), stale=COUNT_MAX)).at_least is False


def test_sweeps_of_a_pass_add_up() -> None:
    first = progress(view(tickets(1, 2, 3), stale=5), cap=2)
    second = progress(view(tickets(3, 4, 5), stale=5), first, cap=2)
    third = progress(view(tickets(5), stale=5), second, cap=2)
    assert [(one.sweeps, one.visited, one.sweeps_for_all) for one in (first, second, third)] == [
        (1, 2, 3),
        (2, 4, 3),
        (3, 5, 3),
    ]
    assert third.next is None


@given(st.integers(0, 60), st.integers(1, 12))
def test_a_pass_takes_as_many_sweeps_as_the_first_one_says(stale: int, cap: int) -> None:
    """While nothing else happens, and all are asked about."""
    everyone = tickets(*range(stale))
    found = progress(view(everyone, stale=stale), cap=cap)
    expected = found.sweeps_for_all
    while found.next:
        found = progress(view(everyone[found.visited :], stale=stale), found, cap=cap)
    assert (found.visited, found.sweeps, found.sweeps_for_all) == (stale, expected, expected)
