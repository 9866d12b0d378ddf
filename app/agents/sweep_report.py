"""What a sweep tells people: what became of each ticket, its sums, and how far the pass is. Arithmetic too."""

from collections.abc import Collection, Mapping
from datetime import datetime
from math import ceil
from typing import NamedTuple

from msgspec import Struct, structs

from app.agents.sweep_plan import Plan, Ticket, Verdict, to_text
from app.agents.sweep_view import View
from app.domain import COUNT_MAX
from app.runtime.tools.results import Denied, Done, Pending, ToolResult, why

UNANSWERED_KEPT = 50
Verdicts = tuple[Verdict, ...]


class Summary(Struct, frozen=True):
    """Always stale = asked + closed + refused + deferred. `error` says why a sweep saw nothing."""

    at: datetime
    open: int
    stale: int
    asked: int
    closed: int
    refused: int
    deferred: int
    error: str | None = None


class Progress(Struct, frozen=True):
    """One pass considers every stale ticket once, over as many sweeps as it takes.

    `next`: the place in the list where the next sweep begins; None: at its beginning, with a new pass. Each ticket that
    this pass has not visited was last active at `unvisited_since` or later. `sweeps_for_all`: of the whole pass, as far
    as one can tell.
    """

    sweeps: int = 0
    visited: int = 0
    next: str | None = None
    unvisited_since: datetime | None = None
    sweeps_for_all: int | None = None
    at_least: bool = False  # more are stale than are counted


class Kept(Summary, frozen=True):
    """The report of a run. `waiting_on_us`: what its pass has met so far that nobody has answered.

    `from_before`: what the pass before met, and this one has not come to yet.
    """

    progress: Progress = Progress()
    waiting_on_us: Verdicts = ()
    from_before: Verdicts = ()

    @property
    def summary(self) -> Summary:
        return Summary(*(getattr(self, name) for name in Summary.__struct_fields__))


class Told(NamedTuple):
    """What became of a plan: every verdict, and how many tickets were asked about, closed at once, or refused."""

    verdicts: list[Verdict]
    asked: int
    closed: int
    refused: int


def outcomes(plan: Plan, withdrawn: Collection[str], results: Mapping[int, ToolResult]) -> Told:
    """A result that says to stop is nobody's: its ticket, and what was planned behind it, are left for later.

    `withdrawn`: the requests that were taken back. The others have just been answered, or a brake holds them.
    """
    stopped = next((result for result in results.values() if isinstance(result, Denied) and result.stops), None)
    became = {ticket.id: _became(results.get(ticket.id), stopped) for ticket in plan.ask}
    held = {"verdict": "waiting", "reason": "it should be taken back, but has ended or been answered, or is halted"}
    kept = {ticket_id: held for ticket_id, request_id in plan.withdraw.items() if request_id not in withdrawn}
    later = {"reason": stopped.message} if stopped else {}
    verdicts = [
        structs.replace(one, **(became | kept).get(one.ticket_id, later if one.verdict == "later" else {}))
        for one in plan.verdicts
    ]
    words = [one["verdict"] for one in became.values()]
    return Told(verdicts, words.count("asked"), words.count("done"), words.count("refused"))


def _became(result: ToolResult | None, stopped: Denied | None) -> dict[str, str]:
    if result is None or result is stopped:
        return {"verdict": "later", "reason": stopped.message if stopped else "not asked"}
    if isinstance(result, Pending):
        return {"verdict": "asked"}
    if isinstance(result, Done) and not result.outcome.is_error:
        return {"verdict": "done"}
    return {"verdict": "refused", "reason": why(result) or ""}


def sum_up(last: Kept | None, so_far: Progress, view: View, told: Told, now: datetime) -> Kept:
    """`last`: the run before, of the same pass if `so_far` has begun."""
    attempted = told.asked + told.closed + told.refused
    stale = max(view.stale, attempted)  # a ticket of an earlier page may have left the count meanwhile
    progress = so_far if view.error else _progress(so_far, view, told.verdicts, stale)
    met, before = _unanswered(last, so_far, told.verdicts)
    over = progress.unvisited_since is None and not view.error
    return Kept(
        now,
        view.open,
        stale,
        told.asked,
        told.closed,
        told.refused,
        stale - attempted,
        view.error,
        progress=progress,
        waiting_on_us=met[:UNANSWERED_KEPT],
        from_before=() if over else before[:UNANSWERED_KEPT],
    )


def _unanswered(last: Kept | None, so_far: Progress, verdicts: list[Verdict]) -> tuple[Verdicts, Verdicts]:
    """Met in this pass so far; and in the one before, where this one has not come to."""
    met, before = (last.waiting_on_us, last.from_before) if last else ((), ())
    if not so_far.sweeps:
        met, before = (), (*met, *before)
    seen = {one.ticket_id for one in verdicts if one.verdict != "later"}
    met, before = (tuple(one for one in known if one.ticket_id not in seen) for known in (met, before))
    return (*met, *(one for one in verdicts if one.verdict == "waiting on us")), before


def _progress(so_far: Progress, view: View, verdicts: list[Verdict], stale: int) -> Progress:
    later = (place for place, one in enumerate(verdicts[: len(view.stretch)]) if one.verdict == "later")
    left = next(later, None)
    considered = view.stretch[:left]
    sweeps, visited = so_far.sweeps + 1, so_far.visited + len(considered)
    if left is None and not view.more:
        return Progress(sweeps, visited, sweeps_for_all=sweeps)
    at_a_time = max(1.0, visited / sweeps)
    return Progress(
        sweeps,
        visited,
        next=_place(considered[-1]) if considered else so_far.next,
        unvisited_since=view.stretch[-1 if left is None else left].last_activity_at,
        sweeps_for_all=sweeps + ceil(max(1, stale - visited) / at_a_time),
        at_least=stale >= COUNT_MAX,
    )


def _place(ticket: Ticket) -> str:
    """The ticket's place in the list by quietest, as `after` wants it."""
    return f"{to_text(ticket.last_activity_at)}_{ticket.id}"
