"""The alarm index: one row per instance that must wake, in one SQLite file. Starting a host opens nothing else."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from app.runtime.instants import after, to_text

RETRY_S, RETRY_MAX_S = 2.0, 3600.0  # a failing turn is tried again after 2 s, 4 s … an hour

TABLE = """
CREATE TABLE IF NOT EXISTS alarms (
  agent TEXT NOT NULL, instance TEXT NOT NULL, at TEXT, failures INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (agent, instance));
CREATE INDEX IF NOT EXISTS alarms_by_time ON alarms (at) WHERE at IS NOT NULL;
"""


@dataclass(frozen=True, slots=True)
class Due:
    agent: str
    instance: str
    failures: int


class Alarms:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(TABLE)

    def arm(self, agent: str, instance: str, at: str) -> None:
        """Wake by `at` at the latest. Costs no write when the alarm is early enough already."""
        [armed] = self._db.execute(
            "SELECT count(*) FROM alarms WHERE agent = ? AND instance = ? AND at <= ?", (agent, instance, at)
        ).fetchone()
        if not armed:
            self.set(agent, instance, at)

    def set(self, agent: str, instance: str, at: str | None) -> None:
        self._db.execute(
            "INSERT INTO alarms (agent, instance, at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at,"
            " failures = 0 WHERE at IS NOT excluded.at OR failures > 0",
            (agent, instance, at),
        )

    def due(self, now: datetime) -> list[Due]:
        query = "SELECT agent, instance, failures FROM alarms WHERE at <= ? ORDER BY at"
        return [Due(*row) for row in self._db.execute(query, (to_text(now),))]

    def failed(self, due: Due, now: datetime) -> None:
        retry_at = after(now, min(RETRY_S * 2 ** min(due.failures, 20), RETRY_MAX_S))
        self._db.execute(
            "UPDATE alarms SET at = ?, failures = ? WHERE agent = ? AND instance = ?",
            (retry_at, due.failures + 1, due.agent, due.instance),
        )

    def next_at(self) -> str | None:
        earliest: str | None = self._db.execute("SELECT min(at) FROM alarms").fetchone()[0]
        return earliest

    def close(self) -> None:
        self._db.close()
