"""The triager's policy. Literal data."""

POLICY = {
    "stale_after_days": 7,  # days without activity
    "max_asks_per_sweep": 10,
    "cool_down_hours": 24,  # when nobody answered in time, the ticket is left alone this long
}
