"""What one request or turn may spend, and which trace it belongs to."""

import pytest

from app.runtime import invocation
from app.runtime.errors import StatementLimitExceeded

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_the_statement_after_the_last_one_allowed_is_refused_and_not_counted() -> None:
    with invocation.begin("trace") as own:
        for _ in range(invocation.STATEMENT_LIMIT):
            own.spend()
        with pytest.raises(StatementLimitExceeded):
            own.spend()
        assert (own.statements, own.left) == (50, 0)


def test_a_turn_inside_a_request_spends_its_own_statements() -> None:
    with invocation.begin("outer") as outer:
        outer.spend()
        with invocation.begin("inner") as inner:
            assert invocation.trace_id() == "inner"
            inner.spend()
        assert invocation.current() is outer
        assert (outer.statements, inner.statements) == (1, 1)
    assert invocation.current() is None
    assert invocation.trace_id() is None


@pytest.mark.parametrize(
    ("traceparent", "trace"),
    [
        (f"00-{TRACE}-00f067aa0ba902b7-01", TRACE),
        (f"00-{TRACE.upper()}-00f067aa0ba902b7-01", None),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", None),
        (f"01-{TRACE}-00f067aa0ba902b7-01", None),
        (f"00-{TRACE}-00f067aa0ba902b7-01\n", None),
        ("", None),
    ],
)
def test_a_trace_is_continued_only_from_a_traceparent(traceparent: str, trace: str | None) -> None:
    assert invocation.trace_from(traceparent) == trace
