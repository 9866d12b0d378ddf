"""config/triage.py, with one fault planted: exactly that fault is found, on its line."""

import pytest

from app.check.policy import PATH
from app.check.tree import README
from tests.check.planted import edited, new_in, told


@pytest.mark.parametrize(
    ("old", "new", "rule", "said"),
    [
        ('"stale_after_days": 7', '"stale_after_days": WEEK', "config-literal", "`WEEK` is worked out"),
        ('"stale_after_days": 7,', '"stale_after_days": 7, "stale_after_days": 7,', "config-twice", "is there twice"),
        ('"stale_after_days": 7', '"stale_after_days": "7"', "policy-value", "Expected `int`, got `str`"),
        ('"stale_after_days": 7', '"stale_after_days": 7.5', "policy-value", "Expected `int`, got `float`"),
        ('"stale_after_days": 7', '"stale_after_days": 0', "policy-value", "Expected `int` >= 1"),
        ('"max_asks_per_sweep": 10', '"max_asks_per_sweep": 22', "policy-value", "Expected `int` <= 21"),
        ('"exempt_priorities": ["urgent"]', '"exempt_priorities": ["urgnet"]', "policy-value", "'urgnet'"),
        (
            '"cool_down_hours": 24',
            '"cool_down_hours": 24, "cooldown": 1',
            "policy-key",
            'Did you mean "cool_down_hours"?',
        ),
        ('"cool_down_hours"', '"cool_down_hrs"', "policy-key", 'Did you mean "cool_down_hours"?'),
        ('"cool_down_hours": 24', '"cool_down_hours": 24, "zzz": 1', "policy-key", "Take it out."),
        ('"cool_down_hours": 24,', "", "policy-missing", "It says nothing of cool_down_hours"),
    ],
)
def test_a_fault_in_the_policy_is_found(old: str, new: str, rule: str, said: str) -> None:
    tree = edited(PATH, old, new)
    found = [each for each in new_in(tree) if not each.where.startswith(README)]  # which shows the policy as it was
    lines = tree.files[PATH].splitlines()
    changed = new.strip() or "POLICY"
    line = next(number for number, text in enumerate(lines, 1) if changed in text)
    assert told(found) == [(rule, f"{PATH}:{line}")]
    assert said in found[0].message
