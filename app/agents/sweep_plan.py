"""What should a sweep do about each ticket, and why? Arithmetic over what it saw; nothing here acts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from msgspec import Struct

from app.agents.policy import Policy
from app.domain import Priority, Speaker, Status

TITLE_SHOWN = 60  # characters

Word = Literal[
    "ask",
    "asked",
    "refused",  # the question could not be put
    "done",  # without a question, where the tool wants none
    "waiting",  # a person has been asked
    "withdraw",  # a person has been asked, but the ticket is not what it was
    "later",  # not looked at yet: the next sweep begins with it
    "closed",
    "protected",
    "exempt",
    "active",
    "waiting on us",  # nobody has answered its requester
    "declined",
    "cooling",  # nobody answered the last question
]
SPOKE = {
    Speaker.OPERATOR: "an operator spoke last",
    Speaker.REQUESTER: "the requester spoke last",
    Speaker.NONE: "who spoke last is not known",
}


class Ticket(Struct, frozen=True):
    """What a plan needs of a ticket as `tickets_index` lists it."""

    id: int
    title: str
    version: int
    status: Status
    priority: Priority
    assignee: str | None
    labels: list[str]
    last_activity_at: datetime
    last_speaker: Speaker
    protected_until: datetime | None


class Parked(NamedTuple):
    """A close that waits for a person."""

    request_id: str
    version: int | None  # None where it cannot be read


class No(NamedTuple):
    """A person's no: until when (None: for good), and why, where that is known."""

    until: str | None
    reason: str | None = None


class Memory(NamedTuple):
    """What people have said, or not said, by ticket."""

    parked: Mapping[int, Parked]
    declined: Mapping[int, No]
    cooling: Mapping[int, datetime]


class Verdict(Struct, frozen=True):
    """What a sweep does about one ticket, and why, in the words that every surface shows."""

    ticket_id: int
    title: str
    verdict: Word
    reason: str


class Plan(NamedTuple):
    """`verdicts`: one for every ticket that was looked at. `ask`: about these, in order. `withdraw`: request ids, by
    ticket.

    `left`: where in the stretch the next sweep begins; None when all of it was considered.
    """

    verdicts: list[Verdict]
    ask: list[Ticket]
    withdraw: dict[int, str]
    left: int | None


def plan_sweep(
    stretch: Sequence[Ticket],
    others: Sequence[Ticket],
    *,
    absent: Collection[int] = (),
    memory: Memory,
    policy: Policy,
    now: datetime,
    room: int,
    begun: Collection[int] = (),
) -> Plan:
    """`stretch`: the stale tickets from the pass's place on, the longest quiet first. `others`: what else waits for a
    person, as it is now; `absent`: what waits and is gone.

    At most `policy.max_asks_per_sweep` are asked, and `room` at a time may wait for people. Only who is asked takes a
    place: the stretch ends before the first ticket that would be asked and has none. `begun` are the tickets that this
    very run has taken before a crash: they count against the cap.
    """
    places = max(0, min(policy.max_asks_per_sweep - len(begun), room))
    full = _full(policy, crowded=room < policy.max_asks_per_sweep - len(begun))
    plan = Plan([], [], {}, None)
    for position, ticket in enumerate((*stretch, *others)):
        word, reason = _judge(ticket, memory, policy, now, begun)
        fresh = word == "ask" and ticket.id not in begun
        in_stretch = position < len(stretch)
        if plan.left is None and in_stretch and fresh and not places:
            plan = plan._replace(left=position)
        if plan.left is not None and in_stretch and ticket.id not in memory.parked:
            word, reason = "later", full
        elif word == "ask":
            plan.ask.append(ticket)
            places -= fresh
        elif word == "withdraw":
            plan.withdraw[ticket.id] = memory.parked[ticket.id].request_id
        plan.verdicts.append(Verdict(ticket.id, ticket.title[:TITLE_SHOWN], word, reason))
    for ticket_id in absent:
        plan.withdraw[ticket_id] = memory.parked[ticket_id].request_id
        plan.verdicts.append(Verdict(ticket_id, "", "withdraw", "there is no such ticket any more"))
    return plan


def because(ticket: Ticket, policy: Policy, now: datetime) -> str:
    """The rule by which people are asked about it, for them to read."""
    quiet, limit = (now - ticket.last_activity_at).days, policy.stale_after_days
    return f"No activity for {quiet} day{'s' * (quiet != 1)} (the limit is {limit}), and {SPOKE[ticket.last_speaker]}."


def _full(policy: Policy, *, crowded: bool) -> str:
    if crowded:
        return "waiting for people: as many questions are open as may be"
    return f"this sweep has asked its {policy.max_asks_per_sweep}; the next one begins here"


def _judge(ticket: Ticket, memory: Memory, policy: Policy, now: datetime, begun: Collection[int]) -> tuple[Word, str]:
    parked = memory.parked.get(ticket.id)
    if parked is None:
        quiet = f"no activity for {(now - ticket.last_activity_at).days} days; {SPOKE[ticket.last_speaker]}"
        return next(_left_alone(ticket, memory, policy, now), ("ask", quiet))
    if moot := next(_protected(ticket, policy, now), None):
        return "withdraw", moot[1]
    if parked.version not in (None, ticket.version):
        return "withdraw", "it has changed since it was asked"
    return ("ask" if ticket.id in begun else "waiting"), "a person has been asked"


def _left_alone(ticket: Ticket, memory: Memory, policy: Policy, now: datetime) -> Iterator[tuple[Word, str]]:
    yield from _protected(ticket, policy, now)
    if no := memory.declined.get(ticket.id):
        how_long = f"until {_day(no.until, now)}" if no.until else "for good"
        yield "declined", f"a person wants it left open {how_long}" + (f": {no.reason}" if no.reason else "")
    if (until := memory.cooling.get(ticket.id)) and until > now:
        yield "cooling", f"nobody answered the last question; not asked again before {_minute(until)}"


def _protected(ticket: Ticket, policy: Policy, now: datetime) -> Iterator[tuple[Word, str]]:
    """Why nobody may be asked about it, whatever was said before."""
    if ticket.status != Status.OPEN:
        yield "closed", "it is closed"
    if ticket.protected_until and ticket.protected_until > now:
        yield "protected", f"protected until {_minute(ticket.protected_until)}"
    for name in sorted({*ticket.labels} & {*policy.exempt_labels}):
        yield "exempt", f'the label "{name}" is exempt'
    if ticket.assignee in policy.exempt_assignees:
        yield "exempt", f"{ticket.assignee}'s tickets are exempt"
    if ticket.priority in policy.exempt_priorities:
        yield "exempt", f"priority {ticket.priority} is exempt"
    if ticket.last_activity_at >= now - timedelta(days=policy.stale_after_days):
        yield "active", f"active {_minute(ticket.last_activity_at)}, stale after {policy.stale_after_days} days"
    if policy.spare_unanswered and ticket.last_speaker == Speaker.REQUESTER:
        yield "waiting on us", "the requester spoke last, and nobody has answered"


def _day(until: str, now: datetime) -> str:
    """With the minute where it is near."""
    at = datetime.fromisoformat(until)
    return _minute(at) if at - now < timedelta(days=2) else until[:10]


def _minute(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")


def to_text(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
