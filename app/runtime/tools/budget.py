"""Gate 2 of the pipeline: a burst floor of calls per minute, in memory, per caller. No quota: a restart resets it."""

from collections import deque
from datetime import datetime, timedelta

WINDOW = timedelta(seconds=60)


class Meter:
    """A sliding window. Every call that passed its scope takes a place, a parked one too; a refused one takes none.

    Status reads, and calls that a person approved, do not come here.
    """

    def __init__(self, calls_per_minute: int) -> None:
        self.calls_per_minute = calls_per_minute
        self._taken: deque[datetime] = deque()

    def take(self, now: datetime) -> bool:
        while self._taken and not now - WINDOW < self._taken[0] <= now:  # later than now: the clock was set back
            self._taken.popleft()
        if len(self._taken) >= self.calls_per_minute:
            return False
        self._taken.append(now)
        return True
