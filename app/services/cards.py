"""What a card says beside its request: what became of the ticket since, and what of the answer can be undone. Pure."""

from datetime import datetime
from typing import Any, Literal

from app.domain import Speaker, Status
from app.runtime.instants import to_text
from app.runtime.principal import agent_of
from app.schemas import ApprovalOut, Card, TicketNow

Undo = Literal["take back", "reopen", "ask again"]
TICKET = "ticket:"
MEANS: dict[Undo, str] = {
    "take back": "Nothing is carried out. {who} may ask again{when}: reject it then, if it is to be left alone.",
    "reopen": "The ticket is opened again, which counts as activity.",
    "ask again": "Forgets the no: {who} may ask again{when}.",
}
WROTE = {Speaker.REQUESTER: "The requester", Speaker.OPERATOR: "An operator", Speaker.NONE: "Somebody"}


def card(request: ApprovalOut, ticket: TicketNow | None, now: datetime) -> Card:
    undo = undo_of(request, ticket, now)
    return Card(request, ticket, changed(request, ticket), undo, undo and _means(undo, request.principal))


def ticket_of(subject: str) -> int | None:
    """The ticket that a request is about, if it is about one."""
    number = subject.removeprefix(TICKET)
    return int(number) if number != subject and number.isdigit() else None


def closed_at_version(preview: dict[str, Any]) -> int | None:
    """The version at which a call, as its preview says, leaves a ticket closed. None where it does something else."""
    after = preview.get("after", {})
    version: int | None = after.get("version") if after.get("status") == Status.CLOSED else None
    return version


def undo_of(request: ApprovalOut, ticket: TicketNow | None, now: datetime) -> Undo | None:
    at = to_text(now)
    match request.status:
        case "approved" if not request.consumed_at:
            return "take back"
        case "used" if ticket and ticket.status == Status.CLOSED:
            return "reopen" if ticket.version == closed_at_version(request.preview) else None
        case "rejected" if not request.superseded_at and (request.until_at is None or request.until_at > at):
            return "ask again"
    return None


def changed(request: ApprovalOut, ticket: TicketNow | None) -> str | None:
    """None where the ticket is as it was when people were asked, or, once that is done, as the call left it."""
    if ticket is None:
        return None if ticket_of(request.subject) is None else "There is no such ticket any more."
    left = request.preview.get("after" if request.status == "used" else "before", {})
    version = left.get("version", request.input.get("version"))
    if version in (None, ticket.version):
        return None
    if ticket.status == left.get("status", ticket.status):
        return _said(ticket, request.requested_at, once=ticket.version == version + 1)
    return "It was reopened." if ticket.status == Status.OPEN else f"{ticket.closed_by or 'Somebody'} closed it."


def _said(ticket: TicketNow, since: str, *, once: bool) -> str:
    """Activity is what people say in public, and reopening, which takes a close before it."""
    who = WROTE[Speaker(ticket.last_speaker)]
    if ticket.last_activity_at <= since:
        return "It was edited."
    if once:
        return f"{who} wrote at {ticket.last_activity_at}."
    return f"It changed more than once, last at {ticket.last_activity_at}; {who.lower()} spoke last."


def _means(undo: Undo, principal: str) -> str:
    by_agent = agent_of(principal) is not None
    who = "the agent" if by_agent else "whoever asked"
    who = who if undo == "ask again" else who.capitalize()
    return MEANS[undo].format(who=who, when=" at its next sweep" if by_agent else "")
