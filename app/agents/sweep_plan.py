"""What should a sweep do? Arithmetic over what it saw; nothing here acts."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from app.domain import Speaker


class Ticket(Struct):
    """What the plan needs of a ticket that `tickets_index` lists as stale."""

    id: int
    version: int
    last_speaker: Speaker


class Parked(NamedTuple):
    """A close that waits for a person."""

    request_id: str
    ticket_id: int
    version: int | None  # None where it cannot be read


class Plan(NamedTuple):
    """`ask`: tickets to ask about, in order. `withdraw`: requests whose ticket is not as it was when it was asked."""

    ask: list[Ticket]
    withdraw: list[str]


def plan_sweep(
    stale: Sequence[Ticket],
    *,
    complete: bool,
    parked: Sequence[Parked],
    declined: Mapping[int, datetime | None],
    cooling: Mapping[int, datetime],
    now: datetime,
    cap: int,
    begun: Collection[int] = (),
) -> Plan:
    """`stale` is in id order; `complete` says that it holds every stale ticket, not only the first pages.

    A ticket is asked about unless it waits already, a person declined it (until a time, None: always), it cools down
    after nobody answered, or its requester spoke last and nobody replied. `begun` are the tickets that this very run
    has taken before a crash: they come first, and count against the cap.
    """
    left_out = {p.ticket_id for p in parked} | _still(declined, now) | _still(cooling, now)
    by_id = {ticket.id: ticket for ticket in stale}
    first = [by_id[ticket_id] for ticket_id in begun if ticket_id in by_id]
    fresh = [
        ticket
        for ticket in stale
        if ticket.id not in left_out and ticket.id not in begun and ticket.last_speaker != Speaker.REQUESTER
    ]
    ask = first + fresh[: max(0, cap - len(begun))]
    return Plan(ask, [p.request_id for p in parked if _moved(p, by_id, seen_up_to=_last(stale, complete=complete))])


def _still(until: Mapping[int, datetime | None], now: datetime) -> set[int]:
    return {ticket_id for ticket_id, at in until.items() if at is None or at > now}


def _moved(parked: Parked, stale: Mapping[int, Ticket], seen_up_to: float) -> bool:
    """Edited, closed, or active again since. A ticket beyond the pages that were read is not known to have moved."""
    if parked.version is None:
        return False
    ticket = stale.get(parked.ticket_id)
    return parked.ticket_id <= seen_up_to if ticket is None else ticket.version != parked.version


def _last(stale: Sequence[Ticket], *, complete: bool) -> float:
    if complete:
        return float("inf")
    return stale[-1].id if stale else 0
