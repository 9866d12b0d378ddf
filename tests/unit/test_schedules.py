"""When does a cron expression come up next? In its own zone, strictly later, or refused."""

from datetime import UTC, datetime

import pytest

from app.runtime.durable.schedules import next_run
from app.runtime.instants import to_text

NOON = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "zone", "now", "expected"),
    [
        ("0 * * * *", "UTC", NOON, "2026-03-09T13:00:00.000Z"),
        ("0 * * * *", "UTC", NOON.replace(microsecond=1), "2026-03-09T13:00:00.000Z"),
        ("0 12 * * *", "UTC", NOON, "2026-03-10T12:00:00.000Z"),
        ("0 9 * * *", "Europe/Berlin", NOON, "2026-03-10T08:00:00.000Z"),
        ("0 9 * * *", "Asia/Kathmandu", NOON, "2026-03-10T03:15:00.000Z"),
        ("0 0 29 2 *", "UTC", NOON, "2028-02-29T00:00:00.000Z"),
        ("0 9 * * MON-FRI", "UTC", datetime(2026, 3, 13, 10, 0, tzinfo=UTC), "2026-03-16T09:00:00.000Z"),
    ],
)
def test_the_next_run_is_the_first_time_after_now_in_the_schedules_zone(
    expression: str, zone: str, now: datetime, expected: str
) -> None:
    assert to_text(next_run(expression, zone, now)) == expected


def test_nine_in_the_morning_stays_nine_in_the_morning_when_the_clocks_change() -> None:
    before, after = (
        next_run("0 9 * * *", "Europe/Berlin", datetime(2026, 3, day, 12, 0, tzinfo=UTC)) for day in (27, 28)
    )
    assert (before.hour, after.hour) == (8, 7)


@pytest.mark.parametrize("skipped", ["30 2 29 3 *", "30 2 * * *"])
def test_a_time_that_the_clocks_skip_is_not_lost_and_not_run_twice(skipped: str) -> None:
    run = next_run(skipped, "Europe/Berlin", datetime(2026, 3, 28, 12, 0, tzinfo=UTC))
    assert to_text(run) == "2026-03-29T01:00:00.000Z"
    assert next_run(skipped, "Europe/Berlin", run) > run.replace(day=30, hour=0)


@pytest.mark.parametrize(
    "expression", ["0 0 31 2 *", "0 0 * * * *", "0 * * *", "", "@hourly", "60 * * * *", "0 0 31 4,6 *", "every hour"]
)
def test_an_expression_without_a_time_of_five_fields_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="Nothing was scheduled"):
        next_run(expression, "UTC", NOON)
