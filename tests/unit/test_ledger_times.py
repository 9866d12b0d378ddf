"""When does a ledger look again? Soon at first, hourly in the end, and just after a deadline."""

import pytest

from app.runtime.durable.ledger import next_check_s


@pytest.mark.parametrize(
    ("checks", "left_s", "expected"),
    [
        (0, None, 30),
        (1, None, 60),
        (2, None, 120),
        (6, None, 1920),
        (7, None, 3600),
        (500, None, 3600),
        (0, 3600.0, 30),
        (0, 10.0, 15),
        (9, 600.0, 605),
        (9, 90_000.0, 3600),
        (0, 0.0, 5),
        (0, -4.5, 1),
        (0, -90_000.0, 1),
    ],
)
def test_the_next_look_doubles_up_to_an_hour_and_does_not_miss_the_deadline(
    checks: int, left_s: float | None, expected: float
) -> None:
    assert next_check_s(checks, left_s) == expected
