"""Gate 2 of the pipeline: a burst floor of calls per minute, in memory, per caller. No quota: a restart resets it."""

from collections import OrderedDict, deque
from datetime import datetime, timedelta

WINDOW = timedelta(seconds=60)
METERS_MAX = 10_000


class Meter:
    """A sliding window. Every call that passed its scope takes a place, a parked one too; a refused one takes none.

    Status reads, and calls that a person approved, do not come here. `writes_per_minute` of them may change things.
    """

    def __init__(self, calls_per_minute: int, writes_per_minute: int | None = None) -> None:
        self.limit = calls_per_minute
        self._writes = calls_per_minute if writes_per_minute is None else writes_per_minute
        self._taken: deque[tuple[datetime, bool]] = deque()

    def used(self, now: datetime) -> int:
        return sum(now - WINDOW < at <= now for at, _ in self._taken)

    def refusal(self, now: datetime, *, write: bool = False) -> str | None:
        """Take a place: None where there was one, else the limit that is reached."""
        while self._taken and not now - WINDOW < self._taken[0][0] <= now:  # later than now: the clock was set back
            self._taken.popleft()
        if len(self._taken) >= self.limit:
            return f"More than {self.limit} calls in a minute."
        if write and sum(written for _, written in self._taken) >= self._writes:
            return f"More than {self._writes} calls in a minute that may change something."
        self._taken.append((now, write))
        return None


class Meters:
    """A meter for each caller that comes and goes, by its key. Of more than 10,000, those go that were used first."""

    def __init__(self, calls_per_minute: int, writes_per_minute: int) -> None:
        self._limits = calls_per_minute, writes_per_minute
        self._meters: OrderedDict[str, Meter] = OrderedDict()

    def of(self, key: str) -> Meter:
        meter = self._meters.setdefault(key, Meter(*self._limits))
        self._meters.move_to_end(key)
        if len(self._meters) > METERS_MAX:
            self._meters.popitem(last=False)
        return meter
