"""An instance's private database, as the rest of the runtime sees it, and the SQLite file behind it."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Row = dict[str, Any]

TABLES = """
CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS schedules (
  callback TEXT NOT NULL, key TEXT NOT NULL, expression TEXT NOT NULL, zone TEXT NOT NULL, payload TEXT NOT NULL,
  next_at TEXT NOT NULL, failures INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (callback, key));
CREATE TABLE IF NOT EXISTS ledger (
  request_id TEXT PRIMARY KEY, tool TEXT NOT NULL, subject TEXT NOT NULL, fingerprint TEXT NOT NULL,
  arguments TEXT NOT NULL, asked INTEGER NOT NULL DEFAULT 0, checks INTEGER NOT NULL DEFAULT 0,
  next_check_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
  id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, taken TEXT NOT NULL, finished_at TEXT, report TEXT);
"""


class Storage(Protocol):
    def sql(self, query: str, *params: Any) -> list[Row]:
        """Run one statement; its rows. Outside `atomically` it commits by itself."""

    def atomically(self, work: Callable[[], T]) -> T:
        """Run `work`, all of it or nothing. It may not nest, and it cannot await."""

    def close(self) -> None:
        """Let go of the database until the next statement."""


class SqliteStorage:
    """One file. Opened, and made, at the first statement."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def sql(self, query: str, *params: Any) -> list[Row]:
        cursor = self._open().execute(query, params)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def atomically(self, work: Callable[[], T]) -> T:
        connection = self._open()
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = work()
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        return result

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.executescript(TABLES)
            self._connection = connection
        return self._connection
