"""What a card says beside its request. Pure."""

from typing import Any

import pytest

from app.domain import Speaker, Status
from app.schemas import ApprovalOut, TicketNow
from app.services.cards import card, changed, closed_at_version, ticket_of
from tests.support import NOW, TRIAGER, ago

ASKED = ago(2)
PREVIEW = {
    "summary": "Closes ticket 41.",
    "before": {"status": "open", "version": 3},
    "after": {"status": "closed", "version": 4},
}


def a_request(**fields: Any) -> ApprovalOut:
    plain: dict[str, Any] = dict.fromkeys(ApprovalOut.__struct_fields__)
    said = {"id": "one", "subject": "ticket:41", "input": {"ticket_id": 41, "version": 3}, "preview": PREVIEW}
    stands = {"status": "pending", "principal": TRIAGER.key, "requested_at": ASKED}
    return ApprovalOut(**(plain | said | stands | fields))


def a_ticket_now(version: int = 3, status: Status = Status.OPEN, **fields: Any) -> TicketNow:
    said: dict[str, Any] = {"last_speaker": Speaker.OPERATOR, "last_activity_at": ago(12)}
    known: dict[str, Any] = {"id": 41, "title": "x", "requester": None, "closed_by": None}
    return TicketNow(version=version, status=status, **(known | said | fields))


REQUESTER: dict[str, Any] = {"last_speaker": Speaker.REQUESTER, "last_activity_at": ago(1)}


@pytest.mark.parametrize(
    ("ticket", "words"),
    [
        (a_ticket_now(), None),
        (a_ticket_now(4), "It was edited."),
        (a_ticket_now(9), "It was edited."),
        (a_ticket_now(4, **REQUESTER), f"The requester wrote at {ago(1)}."),
        (a_ticket_now(4, last_activity_at=ago(1)), f"An operator wrote at {ago(1)}."),
        (a_ticket_now(6, **REQUESTER), f"It changed more than once, last at {ago(1)}; the requester spoke last."),
        (a_ticket_now(4, Status.CLOSED, closed_by="Ana"), "Ana closed it."),
        (a_ticket_now(7, Status.CLOSED, closed_by="Ana", **REQUESTER), "Ana closed it."),
        (None, "There is no such ticket any more."),
    ],
)
def test_a_card_says_what_became_of_the_ticket_since_people_were_asked(ticket: TicketNow | None, words: str) -> None:
    for status in ("pending", "approved", "rejected", "expired", "cancelled"):
        assert changed(a_request(status=status), ticket) == words


@pytest.mark.parametrize(
    ("ticket", "words"),
    [
        (a_ticket_now(4, Status.CLOSED, closed_by="triager/main"), None),
        (a_ticket_now(5, Status.CLOSED, **REQUESTER), f"The requester wrote at {ago(1)}."),
        (a_ticket_now(5, last_activity_at=ago(1)), "It was reopened."),
    ],
)
def test_of_a_call_that_was_carried_out_it_says_what_became_of_the_ticket_since_then(
    ticket: TicketNow, words: str | None
) -> None:
    assert changed(a_request(status="used"), ticket) == words


def test_what_is_about_no_ticket_has_not_changed() -> None:
    assert changed(a_request(subject="parcels_send", preview={}, input={}), None) is None
    assert changed(a_request(preview={}, input={}), a_ticket_now(9)) is None  # no version was seen


@pytest.mark.parametrize(
    ("stands", "ticket", "undo"),
    [
        ({}, a_ticket_now(), None),
        ({"status": "approved"}, a_ticket_now(), "take back"),
        ({"status": "approved"}, None, "take back"),
        ({"status": "approved", "consumed_at": ago(0)}, a_ticket_now(), None),
        ({"status": "used"}, a_ticket_now(4, Status.CLOSED), "reopen"),
        ({"status": "used"}, a_ticket_now(5, Status.CLOSED), None),
        ({"status": "used"}, a_ticket_now(5), None),
        ({"status": "used"}, None, None),
        ({"status": "used", "preview": {}}, a_ticket_now(4, Status.CLOSED), None),
        ({"status": "rejected"}, a_ticket_now(), "ask again"),
        ({"status": "rejected", "until_at": ago(-1)}, a_ticket_now(), "ask again"),
        ({"status": "rejected", "until_at": ago(0)}, a_ticket_now(), None),
        ({"status": "rejected", "superseded_at": ago(0)}, a_ticket_now(), None),
        ({"status": "expired"}, a_ticket_now(), None),
        ({"status": "cancelled"}, a_ticket_now(), None),
        ({"status": "unknown"}, a_ticket_now(), None),
    ],
)
def test_a_card_offers_what_can_be_undone_and_says_what_would_follow(
    stands: dict[str, Any], ticket: TicketNow | None, undo: str | None
) -> None:
    shown = card(a_request(**stands), ticket, NOW)
    assert (shown.undo, shown.undo_means is None) == (undo, undo is None)


def test_an_agent_asks_again_at_its_next_sweep_and_others_when_they_like() -> None:
    agents, others = a_request(status="approved"), a_request(status="approved", principal="token:7")
    assert card(agents, None, NOW).undo_means == (
        "Nothing is carried out. The agent may ask again at its next sweep: reject it then, if it is to be left alone."
    )
    assert card(others, None, NOW).undo_means == (
        "Nothing is carried out. Whoever asked may ask again: reject it then, if it is to be left alone."
    )


@pytest.mark.parametrize(
    ("subject", "number"),
    [("ticket:41", 41), ("ticket:", None), ("parcels_send", None), ("parcel:7", None), ("41", None)],
)
def test_a_subject_names_a_ticket_or_none(subject: str, number: int | None) -> None:
    assert ticket_of(subject) == number


def test_only_a_close_leaves_a_ticket_closed_at_a_version() -> None:
    assert closed_at_version(PREVIEW) == 4
    assert closed_at_version({"after": {"status": "open", "version": 4}}) is None
    assert closed_at_version({"after": {"assignee": "Ana"}}) is None
