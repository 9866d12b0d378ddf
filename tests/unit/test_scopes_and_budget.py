"""The first two gates: may this caller use the tool at all, and how often."""

from datetime import UTC, datetime, timedelta

import pytest

from app.runtime.errors import WiringError
from app.runtime.registration import read
from app.runtime.tools.budget import METERS_MAX, Meter, Meters
from app.runtime.tools.scopes import granted

START = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)


def seconds(count: float) -> datetime:
    return START + timedelta(seconds=count)


def test_a_scope_grants_exactly_the_tool_it_names() -> None:
    assert granted(("tool:tickets_index", "tool:tickets_close"), "tickets_close")


@pytest.mark.parametrize(
    "scope",
    [
        *("tickets_close", "*", "tools:*", "tools:read", "tools:tickets.*", "tool:*", "tool:"),
        *("TOOL:tickets_close", "tool:Tickets_close", " tool:tickets_close", "tool:tickets_close "),
        *("tool:tickets_clos", "tool:tickets_close_all", "tool:tickets.close", "tool:tickets_close,tool:tickets_index"),
    ],
)
def test_nothing_but_the_exact_name_grants_a_tool(scope: str) -> None:
    assert not granted((scope,), "tickets_close")


@pytest.mark.parametrize("scope", ["tools:*", "tools:read", "tools:tickets.*", "tickets_close", "*", "tool:tickets.x"])
def test_a_registration_with_another_kind_of_scope_is_refused(scope: str) -> None:
    with pytest.raises(WiringError, match=r"is not a scope here; write tool:<name>\."):
        read({"triager": {"module": "m", "class": "C", "scopes": [scope]}})


@pytest.mark.parametrize("limit", [0, -1, 1.5, "30", True, None])
def test_a_budget_is_a_whole_number_of_at_least_one(limit: object) -> None:
    with pytest.raises(WiringError, match="calls_per_minute"):
        read({"triager": {"module": "m", "class": "C", "scopes": [], "calls_per_minute": limit}})


def test_a_full_minute_refuses_without_taking_a_place() -> None:
    meter = Meter(2)
    full = "More than 2 calls in a minute."
    assert [meter.refusal(seconds(at)) for at in (0, 1, 2, 3, 59)] == [None, None, full, full, full]
    assert meter.refusal(seconds(60)) is None


def test_a_call_drops_off_exactly_a_minute_later() -> None:
    meter = Meter(1)
    assert meter.refusal(seconds(0)) is None
    assert meter.refusal(seconds(59.999))
    assert meter.refusal(seconds(60)) is None


def test_the_window_slides() -> None:
    meter = Meter(2)
    assert [meter.refusal(seconds(at)) is None for at in (0, 50, 61, 62, 111)] == [True, True, True, False, True]


def test_what_may_change_something_has_a_limit_of_its_own_within_that_of_all_calls() -> None:
    meter = Meter(3, writes_per_minute=1)
    assert meter.refusal(seconds(0), write=True) is None
    assert meter.refusal(seconds(1), write=True) == "More than 1 calls in a minute that may change something."
    assert [meter.refusal(seconds(at)) is None for at in (2, 3, 4)] == [True, True, False]
    assert meter.refusal(seconds(60), write=True) is None


def test_meters_are_apart() -> None:
    meters = Meters(1, 1)
    assert meters.of("token:one").refusal(START) is None
    assert meters.of("token:other").refusal(START) is None
    assert meters.of("token:one").refusal(START)


def test_of_too_many_meters_the_one_goes_that_was_used_longest_ago() -> None:
    meters = Meters(1, 1)
    kept = meters.of("first")
    for number in range(METERS_MAX):
        assert meters.of("first") is kept
        meters.of(f"another {number}")
    assert meters.of("another 0").refusal(START) is None
    assert meters.of("first") is kept
    assert len(meters._meters) == METERS_MAX
