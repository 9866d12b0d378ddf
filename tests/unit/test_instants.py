"""Instants are one fixed-width text, so that comparing text compares time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from app.runtime.instants import after, from_text, plain, to_text

AWARE = st.datetimes(
    min_value=datetime(1, 1, 2),  # noqa: DTZ001 (hypothesis wants naive bounds)
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone),
)


@given(AWARE, AWARE)
def test_text_sorts_as_time_does(one: datetime, other: datetime) -> None:
    assert len(to_text(one)) == len("2026-11-29T17:00:00.000Z")
    if abs(one - other) >= timedelta(milliseconds=1):
        assert (to_text(one) < to_text(other)) == (one < other)


@given(AWARE)
def test_reading_the_text_gives_the_instant_to_the_millisecond(at: datetime) -> None:
    assert timedelta(0) <= at - from_text(to_text(at)) < timedelta(milliseconds=1)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        to_text(datetime(2026, 3, 9))  # noqa: DTZ001


def test_after_counts_seconds() -> None:
    assert after(datetime(2026, 3, 9, 23, 59, 59, tzinfo=UTC), 1.5) == "2026-03-10T00:00:00.500Z"


class Record(Struct):
    at: datetime
    by_id: dict[int, datetime | None]


def test_plain_values_hold_our_text_at_every_depth() -> None:
    at = datetime(2026, 3, 9, 14, 0, tzinfo=timezone(timedelta(hours=2)))
    text = "2026-03-09T12:00:00.000Z"
    assert plain({"runs": (Record(at, {7: at, 8: None}),)}) == {"runs": [{"at": text, "by_id": {"7": text, "8": None}}]}
