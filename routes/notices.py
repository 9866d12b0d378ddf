"""What the console says of a request: how it stands now, whoever followed which link, and what of it is hidden."""

from typing import Any

from msgspec import Struct

from app.runtime.principal import agent_of
from app.runtime.tools.brakes import Brake
from app.runtime.tools.redact import HIDDEN
from app.schemas import ApprovalOut, Card

MEANT = {"approve": ("approved", "used", "unknown"), "reject": ("rejected",)}


class Said(Struct, frozen=True):
    """`good`: it stands as the person meant it, who was also the one to say so."""

    text: str
    good: bool


def said(card: Card, meant: str, name: str, brake: Brake | None) -> Said | None:
    """What became of a request that `name` meant to answer so, or to undo. None where there is nothing to speak of."""
    request = card.request
    if request.status == "pending":
        return Said("It was not answered, and waits.", good=False) if meant else None
    standing = became(card, brake)
    first = meant in MEANT and (request.decided_by != name or request.status not in MEANT[meant])
    if first and request.decided_by not in (None, name):
        return Said(f"{request.decided_by} was first. {standing}", good=False)
    return Said(standing, good=not first)


def became(card: Card, brake: Brake | None) -> str:
    """In full sentences. Only agents keep their calls; others must make them again."""
    request = card.request
    match request.status:
        case "used":
            return f"Approved. It was carried out{_since(card)}."
        case "approved":
            return f"Approved. {_when(request, brake)}"
        case "rejected":
            return f"{_no(request)}{_though(card)}"
        case "expired":
            return f"Expired: {'the yes was not used' if request.decided_at else 'nobody answered'} in time."
        case "cancelled":
            return f"Cancelled: {request.ended_reason}. Nothing was carried out."
    return "Approved. It may have been carried out: look at it."


def _since(card: Card) -> str:
    return "; the ticket is open again" if _closes(card) and card.ticket and card.ticket.status == "open" else ""


def _though(card: Card) -> str:
    """A no keeps nobody else from closing it."""
    if _closes(card) and card.ticket and card.ticket.status == "closed":
        return f" The ticket is closed all the same, by {card.ticket.closed_by or 'somebody'}."
    return ""


def _closes(card: Card) -> bool:
    return bool(card.request.preview["after"].get("status") == "closed")


def _when(request: ApprovalOut, brake: Brake | None) -> str:
    if request.consumed_at:
        return "It is being carried out."
    if brake:
        return "Nothing is carried out before somebody resumes what is halted."
    if agent_of(request.principal):
        return "The agent carries it out within seconds."
    return "Nothing is carried out before whoever asked repeats the call."


def _no(request: ApprovalOut) -> str:
    who = "The agent" if agent_of(request.principal) else "Whoever asked"
    if request.superseded_at:
        return f"Rejected, and forgotten since: {who.lower()} may ask again."
    if request.until_at:
        return f"Rejected for a time. {who} may ask again after that."
    return f"Rejected. {who} will not ask again." if who == "The agent" else "Rejected. That call stays refused."


def hidden_in(value: Any, name: str = "") -> list[str]:
    """What of a call's arguments people are not shown: `flags.pin (4 characters)`."""
    match value:
        case dict():
            return [one for key, item in value.items() for one in hidden_in(item, f"{name}.{key}".lstrip("."))]
        case list():
            return [one for item in value for one in hidden_in(item, name)]
        case str() if value.startswith(HIDDEN[:-1]):
            length = value[len(HIDDEN) :].rstrip("]").strip()
            return [f"{name} ({length})" if length else name]
    return []
