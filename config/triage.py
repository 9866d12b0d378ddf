"""The triager's policy: what it may ask a person to close. Literal data, so that a check can read it unrun."""

from typing import Any

POLICY: dict[str, Any] = {
    "stale_after_days": 7,  # days without activity
    "exempt_labels": ["keep-open"],
    "exempt_assignees": [],
    "exempt_priorities": ["urgent"],
    "spare_unanswered": True,  # whoever waits for an answer from us is not asked about, but listed
    "max_asks_per_sweep": 10,
    "cool_down_hours": 24,  # when nobody answered in time, the ticket is left alone this long
}
