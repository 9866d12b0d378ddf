"""What the console says of an answer: how the request stands now, whoever followed which link."""

from app.runtime.principal import agent_of
from app.runtime.tools.brakes import Brake
from app.schemas import ApprovalOut


def standing(request: ApprovalOut, brake: Brake | None) -> str | None:
    """None where there is no answer to speak of. Only agents keep their calls; others must make them again."""
    by_agent = agent_of(request.principal) is not None
    match request.status:
        case "used":
            return "Approved. It was carried out."
        case "approved":
            return f"Approved. {_when(request, brake, by_agent=by_agent)}"
        case "rejected":
            return _no(request, "The agent" if by_agent else "Whoever asked")
    return None


def _when(request: ApprovalOut, brake: Brake | None, *, by_agent: bool) -> str:
    if request.consumed_at:
        return "It is being carried out."
    if brake:
        return "Nothing is carried out before somebody resumes what is halted."
    if by_agent:
        return "The agent carries it out within seconds."
    return "Nothing is carried out before whoever asked repeats the call."


def _no(request: ApprovalOut, who: str) -> str:
    if request.superseded_at:
        return f"Forgotten. {who} may ask again."
    if request.until_at:
        return f"Rejected for a time. {who} may ask again after that."
    return f"Rejected. {who} will not ask again." if who == "The agent" else "Rejected. That call stays refused."
