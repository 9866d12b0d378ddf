"""The first two gates: may this caller use the tool at all, and how often."""

from datetime import UTC, datetime, timedelta

import pytest

from app.runtime.errors import WiringError
from app.runtime.registration import read
from app.runtime.tools.budget import Meter
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
    assert [meter.take(seconds(at)) for at in (0, 1, 2, 3, 59)] == [True, True, False, False, False]
    assert meter.take(seconds(60))


def test_a_call_drops_off_exactly_a_minute_later() -> None:
    meter = Meter(1)
    assert meter.take(seconds(0))
    assert not meter.take(seconds(59.999))
    assert meter.take(seconds(60))


def test_the_window_slides() -> None:
    meter = Meter(2)
    assert [meter.take(seconds(at)) for at in (0, 50, 61, 62, 111)] == [True, True, True, False, True]


def test_meters_are_apart() -> None:
    one, other = Meter(1), Meter(1)
    assert one.take(START)
    assert other.take(START)
