"""Named jobs of an instance, many over its one alarm. A schedule is its callback and a key.

Registering the same again changes nothing, so `on_start` may do it at every start; another expression replaces.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from app.runtime.durable.storage import Row, Storage
from app.runtime.instants import after, to_text
from app.runtime.steps import Step, reached

When = str | timedelta | datetime  # a cron expression, a delay, an instant
FIELDS = 5  # CronSim knows a sixth, for seconds; a turn every second is no schedule
RETRY_S, RETRY_MAX_S = 2.0, 3600.0


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
    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def put(self, callback: str, when: When, now: datetime, *, zone: str, key: str, payload: Any) -> None:
        """Register. Raises ValueError for an expression that is not five cron fields, or that names no day there is."""
        given = {
            "expression": when if isinstance(when, str) else f"@{when}",
            "zone": zone,
            "payload": json.dumps(payload),
        }
        query = (  # a delay or an instant that is due has had its time: its own job may set the next one
            "SELECT expression, zone, payload FROM schedules WHERE callback = ? AND key = ?"
            " AND (next_at > ? OR expression NOT LIKE '@%')"
        )
        if self._storage.sql(query, callback, key, to_text(now)) == [given]:
            return
        self._storage.sql(
            "INSERT OR REPLACE INTO schedules (callback, key, expression, zone, payload, next_at) VALUES (?,?,?,?,?,?)",
            *(callback, key, *given.values(), to_text(_first(when, zone, now))),
        )
        reached(Step.SCHEDULED)

    def due(self, now: datetime) -> list[Schedule]:
        rows = self._storage.sql("SELECT * FROM schedules WHERE next_at <= ? ORDER BY next_at", to_text(now))
        return [_schedule(row) for row in rows]

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

    def next_at(self) -> str | None:
        earliest: str | None = self._storage.sql("SELECT min(next_at) AS at FROM schedules")[0]["at"]
        return earliest


def next_run(expression: str, zone: str, now: datetime) -> datetime:
    """The first time strictly after `now`, in UTC, that the cron expression names in its zone."""
    try:
        local = now.astimezone(ZoneInfo(zone))
        times: Iterator[datetime] = CronSim(expression, local) if len(expression.split()) == FIELDS else iter(())
        return next(times).astimezone(UTC)
    except (CronSimError, StopIteration) as error:
        raise ValueError(
            f'"{expression}" is not a cron expression that names a time. Nothing was scheduled.'
        ) from error


def _first(when: When, zone: str, now: datetime) -> datetime:
    if isinstance(when, str):
        return next_run(when, zone, now)
    return when if isinstance(when, datetime) else now + when


def _schedule(row: Row) -> Schedule:
    return Schedule(**row | {"payload": json.loads(row["payload"])})
