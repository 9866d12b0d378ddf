"""How often people said yes, and how long they took: what counts, and what does not."""

from datetime import UTC, datetime, timedelta

import pytest

from app.agents.answers import WAITS_KEPT, Answers

ASKED = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)


def after(*ends: tuple[str, float | None]) -> Answers:
    """What is known after questions that ended so, answered after so many seconds; None: never."""
    answers = Answers()
    for status, waited_s in ends:
        decided = None if waited_s is None else ASKED + timedelta(seconds=waited_s)
        answers = answers.and_one(status, ASKED, decided)
    return answers


def test_before_the_first_answer_there_is_no_rate_and_no_wait() -> None:
    assert Answers().evidence() == {
        "approved": 0,
        "rejected": 0,
        "expired": 0,
        "approval_rate": None,
        "median_wait_s": None,
    }


def test_the_rate_is_of_answers_and_silence_is_told_beside_it() -> None:
    evidence = after(("approved", 10), ("approved", 30), ("rejected", 20), ("expired", None)).evidence()
    assert evidence == {
        "approved": 2,
        "rejected": 1,
        "expired": 1,
        "approval_rate": 0.667,
        "median_wait_s": 20.0,
    }


@pytest.mark.parametrize("status", ["cancelled", "expired"])
def test_a_yes_is_a_yes_whatever_became_of_its_call(status: str) -> None:
    """The ticket changed meanwhile, or the yes was not used in time."""
    answers = after((status, 5))
    assert (answers.approved, answers.rejected, answers.expired) == (1, 0, 0)


def test_a_question_that_was_taken_back_unanswered_counts_as_nothing() -> None:
    assert after(("cancelled", None)) == Answers()


def test_a_question_of_which_nobody_knows_when_it_was_asked_has_no_wait() -> None:
    """As a ledger of an older release would settle it."""
    assert Answers().and_one("rejected", None, ASKED) == Answers()
    assert Answers().and_one("expired", None, None) == Answers(expired=1)


def test_the_wait_is_the_latest_hundreds_and_the_counts_are_of_all() -> None:
    answers = after(*[("approved", 1.0)] * WAITS_KEPT, *[("rejected", 9.0)] * WAITS_KEPT)
    assert answers.waits_s == (9.0,) * WAITS_KEPT
    assert (answers.approved, answers.rejected) == (WAITS_KEPT, WAITS_KEPT)
    assert answers.evidence()["approval_rate"] == 0.5
