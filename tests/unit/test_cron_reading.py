"""How a cron expression is read, pinned: the days it means, and what it does on the two days when the clocks change."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import strategies as st

from app.runtime.durable import schedules
from app.runtime.durable.schedules import next_run

NOON = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)  # a Monday
HELSINKI = "Europe/Helsinki"  # 03:00 becomes 04:00 on 29 March 2026, 04:00 becomes 03:00 on 25 October


def runs(expression: str, since: datetime, count: int, zone: str = "UTC") -> list[str]:
    """The next `count` runs, in UTC: month-day and hour:minute."""
    found = []
    for _ in range(count):
        since = next_run(expression, zone, since)
        found.append(since.strftime("%m-%d %H:%M"))
    return found


SUNDAYS = ["03-15 00:00", "03-22 00:00", "03-29 00:00"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 * * 0", SUNDAYS),
        ("0 0 * * 7", SUNDAYS),
        ("0 0 * * 1-5", ["03-10 00:00", "03-11 00:00", "03-12 00:00", "03-13 00:00", "03-16 00:00"]),
        ("0 9 13 * 5", ["03-13 09:00", "03-20 09:00", "03-27 09:00", "04-03 09:00", "04-10 09:00", "04-13 09:00"]),
        ("*/7 * * * *", [f"03-09 12:{minute:02}" for minute in range(7, 60, 7)] + ["03-09 13:00", "03-09 13:07"]),
    ],
)
def test_sunday_is_0_and_7_either_day_matches_and_a_step_starts_anew_each_hour(
    expression: str, expected: list[str]
) -> None:
    assert runs(expression, NOON, len(expected)) == expected


def test_the_29th_of_february_comes_every_four_years() -> None:
    first = next_run("0 0 29 2 *", "UTC", NOON)
    assert (first.year, next_run("0 0 29 2 *", "UTC", first).year) == (2028, 2032)


def test_a_day_that_never_comes_is_refused_without_looking_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    class Counted(CronSim):
        def __next__(self) -> datetime:
            nonlocal looked
            looked += 1
            return super().__next__()

    monkeypatch.setattr(schedules, "CronSim", Counted)
    with pytest.raises(ValueError, match="Nothing was scheduled"):
        next_run("0 0 31 2 *", "UTC", NOON)
    assert looked == 0


def test_a_daily_job_runs_once_on_the_short_day_as_soon_as_its_hour_is_over() -> None:
    since = datetime(2026, 3, 27, 12, 0, tzinfo=UTC)
    assert runs("30 3 * * *", since, 4, HELSINKI) == ["03-28 01:30", "03-29 01:00", "03-30 00:30", "03-31 00:30"]


def test_a_daily_job_runs_once_on_the_long_day_the_first_time_its_hour_comes() -> None:
    since = datetime(2026, 10, 23, 12, 0, tzinfo=UTC)
    assert runs("30 3 * * *", since, 4, HELSINKI) == ["10-24 00:30", "10-25 00:30", "10-26 01:30", "10-27 01:30"]


@pytest.mark.parametrize("minute", [0, 10, 29, 30, 31, 59])
def test_within_the_hour_that_is_repeated_the_next_run_is_the_next_days(minute: int) -> None:
    again = datetime(2026, 10, 25, 1, minute, tzinfo=UTC)  # 03:00 to 03:59 for the second time
    assert runs("30 3 * * *", again, 2, HELSINKI) == ["10-26 01:30", "10-27 01:30"]


@pytest.mark.parametrize("day", [datetime(2026, 3, 28, 20, 30, tzinfo=UTC), datetime(2026, 10, 24, 20, 30, tzinfo=UTC)])
def test_an_hourly_job_runs_once_in_every_real_hour(day: datetime) -> None:
    first = (day + timedelta(minutes=30)).replace(minute=0)
    expected = [(first + timedelta(hours=hour)).strftime("%m-%d %H:%M") for hour in range(8)]
    assert runs("0 * * * *", day, 8, HELSINKI) == expected


def test_sundays_to_thursdays_into_the_spring_change_are_at_local_midnight() -> None:
    since = datetime(2026, 3, 24, 22, 30, tzinfo=UTC)  # Wednesday, 00:30
    assert runs("0 0 * * 0-4", since, 6, HELSINKI) == [
        *("03-25 22:00", "03-28 22:00", "03-29 21:00", "03-30 21:00", "03-31 21:00", "04-01 21:00"),
    ]


@given(
    now=st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    zone=st.sampled_from([HELSINKI, "America/Santiago", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"]),
    expression=st.sampled_from(
        ["30 3 * * *", "0 * * * *", "15 0-5 * * *", "*/7 2 * * *", "5 */2 * * *", "0 0 * * 0-4"]
    ),
)
def test_the_next_run_is_later_than_now_whatever_the_clocks_do(now: datetime, zone: str, expression: str) -> None:
    times = [now]
    for _ in range(4):
        times.append(next_run(expression, zone, times[-1]))
    assert all(later > earlier for earlier, later in pairwise(times))
