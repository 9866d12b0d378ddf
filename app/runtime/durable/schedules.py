"""Named jobs of an instance, many over its one alarm. A schedule is its callback and a key.

Registering the same again changes nothing, so `on_start` may do it at every start; another expression replaces.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from app.runtime.durable.storage import Row, Storage
from app.runtime.instants import after, from_text, to_text
from app.runtime.steps import Step, reached

When = str | timedelta | datetime  # a cron expression, a delay, an instant
FIELDS = 5  # CronSim knows a sixth, for seconds; a turn every second is no schedule
RETRY_S, RETRY_MAX_S = 2.0, 3600.0
RUNNING = """
NOT EXISTS (SELECT 1 FROM pauses WHERE pauses.callback = schedules.callback AND pauses.key = schedules.key)
"""
JOBS = """
SELECT callback, key, expression, zone, next_at, failures, at AS paused_at, "by" AS paused_by, note
FROM schedules LEFT JOIN pauses USING (callback, key) ORDER BY next_at
"""


@dataclass(frozen=True, slots=True)
class Schedule:
    callback: str
    key: str
    expression: str
    zone: str
    payload: Any
    next_at: str
    failures: int


class Schedules:
    """`has(callback)`: is there such a job? One that a deploy has renamed or removed is set aside until it is back."""

    def __init__(self, storage: Storage, has: Callable[[str], bool]) -> None:
        self._storage, self._has = storage, has
        self._running: tuple[str, str] | None = None

    def put(self, callback: str, when: When, now: datetime, *, zone: str, key: str, payload: Any) -> None:
        """Register. Raises ValueError for an expression that is not five cron fields, or that names no day there is."""
        given = {
            "expression": _written(when),
            "zone": zone,
            "payload": json.dumps(payload),
        }
        query = "SELECT expression, zone, payload FROM schedules WHERE callback = ? AND key = ?"
        sets_its_next = self._running == (callback, key) and given["expression"].startswith("@")
        if not sets_its_next and self._storage.sql(query, callback, key) == [given]:
            return
        self._storage.sql(
            "INSERT OR REPLACE INTO schedules (callback, key, expression, zone, payload, next_at) VALUES (?,?,?,?,?,?)",
            *(callback, key, *given.values(), to_text(_first(when, zone, now))),
        )
        reached(Step.SCHEDULED)

    def due(self, now: datetime) -> list[Schedule]:
        query = f"SELECT * FROM schedules WHERE next_at <= ? AND {RUNNING} ORDER BY next_at"  # noqa: S608 (constant text)
        rows = self._storage.sql(query, to_text(now))
        return [_schedule(row) for row in rows if self._has(row["callback"])]

    def jobs(self) -> list[Row]:
        """All of them, and who has paused which, when and why."""
        return [row | {"set_aside": not self._has(row["callback"])} for row in self._storage.sql(JOBS)]

    def pause(self, callback: str, key: str, note: str | None, by: str, now: datetime) -> bool:
        """Never due until note None takes it back, and then at once if it is late. False: there is no such schedule.

        Of what is not paused there is no pause to take back: False, too. A second pause replaces the first.
        """
        put = (
            'INSERT OR REPLACE INTO pauses (callback, key, note, "by", at)'
            " SELECT callback, key, ?, ?, ? FROM schedules WHERE callback = ? AND key = ? RETURNING callback"
        )
        if note is None:
            rows = self._storage.sql("DELETE FROM pauses WHERE callback = ? AND key = ? RETURNING key", callback, key)
        else:
            rows = self._storage.sql(put, note, by, to_text(now), callback, key)
        reached(Step.SCHEDULED)
        return bool(rows)

    def set_aside(self) -> list[str]:
        """The callbacks that are registered, and are no job any more."""
        rows = self._storage.sql("SELECT DISTINCT callback FROM schedules")
        return [row["callback"] for row in rows if not self._has(row["callback"])]

    def set_right(self, now: datetime) -> None:
        """Where the clock was set back, a run is not lost for as long as that. None comes early for it, or twice."""
        for row in self._storage.sql("SELECT * FROM schedules WHERE next_at > ?", to_text(now)):
            schedule = _schedule(row)
            if sooner := _sooner(schedule, now):
                self._change("UPDATE schedules SET next_at = ?", schedule, to_text(sooner))

    @contextmanager
    def running(self, schedule: Schedule) -> Iterator[None]:
        """In the block, a delay or an instant has had its time: its own job may set the next one."""
        self._running = (schedule.callback, schedule.key)
        try:
            yield
        finally:
            self._running = None

    def done(self, schedule: Schedule, now: datetime) -> None:
        """The next run counts from now, so however many were missed, one has made up for them."""
        if schedule.expression.startswith("@"):
            self._change("DELETE FROM schedules", schedule)
            return
        upcoming = to_text(next_run(schedule.expression, schedule.zone, now))
        self._change("UPDATE schedules SET next_at = ?, failures = 0", schedule, upcoming)

    def failed(self, schedule: Schedule, now: datetime) -> None:
        retry_at = after(now, min(RETRY_S * 2 ** min(schedule.failures, 20), RETRY_MAX_S))
        self._change("UPDATE schedules SET next_at = ?, failures = failures + 1", schedule, retry_at)

    def _change(self, statement: str, schedule: Schedule, *values: str) -> None:
        """Unless the job itself has registered another time meanwhile."""
        where = "WHERE callback = ? AND key = ? AND next_at = ?"
        self._storage.sql(f"{statement} {where}", *values, schedule.callback, schedule.key, schedule.next_at)
        reached(Step.SCHEDULED)

    def next_at(self, now: datetime) -> str | None:
        """The earliest run. For what is set aside there is a look in an hour: a deploy may have brought it back."""
        query = f"SELECT callback, min(next_at) AS at FROM schedules WHERE {RUNNING} GROUP BY callback"  # noqa: S608 (constant text)
        rows = self._storage.sql(query)
        look_at = after(now, RETRY_MAX_S)
        return min((row["at"] if self._has(row["callback"]) else look_at for row in rows), default=None)


def next_run(expression: str, zone: str, now: datetime) -> datetime:
    """The first time strictly after `now`, in UTC, that the cron expression names in its zone."""
    try:
        local = now.astimezone(ZoneInfo(zone))
        times: Iterator[datetime] = CronSim(expression, local) if len(expression.split()) == FIELDS else iter(())
        return next(at for time in times if (at := time.astimezone(UTC)) > now)  # an hour the clocks repeat: once
    except (CronSimError, StopIteration) as error:
        raise ValueError(
            f'"{expression}" is not a cron expression that names a time. Nothing was scheduled.'
        ) from error
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f'"{zone}" is no IANA time zone, such as Europe/Berlin. Nothing was scheduled.') from error


def _written(when: When) -> str:
    """As an expression: cron fields, `@+<seconds>`, or `@<instant>`."""
    if isinstance(when, timedelta):
        return f"@+{when.total_seconds()}"
    return when if isinstance(when, str) else f"@{to_text(when)}"


def _first(when: When, zone: str, now: datetime) -> datetime:
    if isinstance(when, str):
        return next_run(when, zone, now)
    try:
        return when if isinstance(when, datetime) else now + when
    except OverflowError as error:
        raise ValueError(f"There is no date {when} from now. Nothing was scheduled.") from error


def _sooner(schedule: Schedule, now: datetime) -> datetime | None:
    """The time of a run that is further off than it can be, unless the clock was set back; None when it is not."""
    next_at, expression = from_text(schedule.next_at), schedule.expression
    if schedule.failures:
        latest = now + timedelta(seconds=RETRY_MAX_S)
    elif expression.startswith("@+"):
        latest = now + timedelta(seconds=float(expression[2:]))
    elif expression.startswith("@"):
        return None
    else:  # one time ahead of the next run may have had its run before the clock was set back; of two, one has not
        first = next_run(expression, schedule.zone, now)
        return first if next_run(expression, schedule.zone, first) < next_at else None
    return latest if latest < next_at else None


def _schedule(row: Row) -> Schedule:
    return Schedule(**row | {"payload": json.loads(row["payload"])})
