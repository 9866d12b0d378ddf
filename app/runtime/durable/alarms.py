"""The alarm index: one row per instance that must wake, in one SQLite file. Starting a host opens nothing else."""

import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from app.runtime.durable.storage import Synchronous
from app.runtime.instants import after, to_text
from app.runtime.steps import Step, reached
from app.runtime.tools.brakes import ALL

ALARMS = "alarms.sqlite"  # below the agents' folder
RETRY_S, RETRY_MAX_S = 2.0, 3600.0  # a failing turn is tried again after 2 s, 4 s … an hour
DUE_MAX = 100  # alarms that ring at a time

TABLE = """
CREATE TABLE IF NOT EXISTS alarms (
  agent TEXT NOT NULL, instance TEXT NOT NULL, at TEXT, failures INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (agent, instance));
CREATE INDEX IF NOT EXISTS alarms_by_time ON alarms (at) WHERE at IS NOT NULL;
"""
FREE = f"NOT EXISTS (SELECT 1 FROM json_each(?) WHERE value IN (agent, '{ALL}'))"  # noqa: S608 (constant text)


@dataclass(frozen=True, slots=True)
class Due:
    agent: str
    instance: str
    failures: int

    @property
    def name(self) -> tuple[str, str]:
        return self.agent, self.instance


@dataclass(frozen=True, slots=True)
class Known:
    """An instance that has, or had, an alarm. `failures` counts since its last turn that went well."""

    agent: str
    instance: str
    next_at: str | None
    failures: int


class Alarms:
    def __init__(self, path: Path, synchronous: Synchronous = "FULL") -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA synchronous={synchronous}")
        self._db.executescript(TABLE)

    def arm(self, agent: str, instance: str, at: str) -> None:
        """Wake by `at` at the latest. Costs no write when the alarm is early enough already."""
        [armed] = self._db.execute(
            "SELECT count(*) FROM alarms WHERE agent = ? AND instance = ? AND at <= ?", (agent, instance, at)
        ).fetchone()
        if not armed:
            self.set(agent, instance, at)

    def set(self, agent: str, instance: str, at: str | None) -> None:
        changed = self._db.execute(
            "INSERT INTO alarms (agent, instance, at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at,"
            " failures = 0 WHERE at IS NOT excluded.at OR failures > 0",
            (agent, instance, at),
        )
        if changed.rowcount:
            reached(Step.ARMED)

    def due(self, now: datetime, halted: Collection[str] = ()) -> list[Due]:
        """The most overdue ones first, at most DUE_MAX; none of the agents that are halted."""
        query = f"SELECT agent, instance, failures FROM alarms WHERE at <= ? AND {FREE} ORDER BY at LIMIT ?"  # noqa: S608 (constant text)
        return [Due(*row) for row in self._db.execute(query, (to_text(now), json.dumps([*halted]), DUE_MAX))]

    def look_at_all(self, now: datetime) -> None:
        """Every instance wakes now: the clock was set back, and only they know what they wait for."""
        changed = self._db.execute("UPDATE alarms SET at = ? WHERE at > ?", (to_text(now), to_text(now)))
        if changed.rowcount:
            reached(Step.ARMED)

    def failed(self, due: Due, now: datetime) -> None:
        retry_at = after(now, min(RETRY_S * 2 ** min(due.failures, 20), RETRY_MAX_S))
        self._db.execute(
            "UPDATE alarms SET at = ?, failures = ? WHERE agent = ? AND instance = ?",
            (retry_at, due.failures + 1, due.agent, due.instance),
        )
        reached(Step.ARMED)

    def next_at(self, leave_out: Collection[tuple[str, str]], halted: Collection[str] = ()) -> str | None:
        """The earliest alarm but for those of the instances to leave out, and of the agents that are halted."""
        query = f"SELECT agent, instance, at FROM alarms WHERE at IS NOT NULL AND {FREE} ORDER BY at LIMIT ?"  # noqa: S608 (constant text)
        rows = self._db.execute(query, (json.dumps([*halted]), len(leave_out) + 1))
        return next((at for agent, instance, at in rows if (agent, instance) not in leave_out), None)

    def known(self) -> list[Known]:
        rows = self._db.execute("SELECT agent, instance, at, failures FROM alarms ORDER BY agent, instance")
        return [Known(*row) for row in rows]

    def close(self) -> None:
        self._db.close()
