"""The books of a story: does what the databases hold agree with what people answered?"""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.cli.story import BUDGETS, CAP, Story
from db.schema import ApprovalRow, EventRow, TicketRow


@dataclass(frozen=True, slots=True)
class Books:
    closed: list[int]  # ids of tickets, an entry for each time one was closed by a request
    declined: list[int]
    still_open: set[int]
    subjects: list[str]  # one for each request
    ended: dict[str, str | None]  # request id: what became of it
    parked: int


async def books(told: Story) -> Books:
    report = await told.report()
    closed, still_open, requests = await told.system.db.read(_look)
    return Books(
        closed=closed,
        declined=sorted(int(ticket_id) for ticket_id in report["declined"]),
        still_open=still_open,
        subjects=[subject for _, subject, _ in requests],
        ended={request_id: ended for request_id, _, ended in requests},
        parked=len(report["parked"]),
    )


def problems(told: Story, found: Books) -> list[str]:
    """Every invariant that does not hold, as a sentence."""
    promised = {"approve": "used", "reject": "rejected"}
    checks = {
        "a sweep's stale tickets are not asked + closed + refused + deferred": all(
            swept["stale"] == swept["asked"] + swept["closed"] + swept["refused"] + swept["deferred"]
            for swept in told.sweeps
        ),
        f"a sweep asked more than {CAP} times": all(swept["asked"] <= CAP for swept in told.sweeps),
        "a ticket was closed twice": max(Counter(found.closed).values(), default=0) <= 1,
        "a ticket was asked about twice": max(Counter(found.subjects).values(), default=0) <= 1,
        "an answer was lost, or became something else": found.ended
        == {request_id: promised[verb] for request_id, verb in told.answers.items()},
        "a closed ticket was not approved": len(found.closed) == list(told.answers.values()).count("approve"),
        "a rejected ticket is closed": set(found.declined) <= found.still_open,
        "the agent did not hear of every answer": told.settled.keys() == told.answers.keys(),
        "a call still waits": found.parked == 0,
        f"an invocation ran more statements than {BUDGETS}": all(
            told.statements[kind] <= most for kind, most in BUDGETS.items()
        ),
    }
    return [sentence for sentence, holds in checks.items() if not holds]


def _look(session: Session) -> tuple[list[int], set[int], list[tuple[str, str, str | None]]]:
    events = select(EventRow.subject).where(EventRow.kind == "closed", EventRow.request_id.is_not(None))
    closed = [int(subject.removeprefix("ticket:")) for subject in session.scalars(events.order_by(EventRow.id))]
    still_open = set(session.scalars(select(TicketRow.id).where(TicketRow.status == "open")))
    requests = session.execute(select(ApprovalRow.id, ApprovalRow.subject, ApprovalRow.ended))
    return closed, still_open, [(row.id, row.subject, row.ended) for row in requests]
