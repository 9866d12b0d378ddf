"""The triager's policy. Literal data."""

STALE_AFTER_DAYS = 7  # days without activity
MAX_ASKS_PER_SWEEP = 10
COOL_DOWN_HOURS = 24  # after nobody answered, the same ticket is left alone this long
