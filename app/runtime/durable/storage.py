"""An instance's private database, as the rest of the runtime sees it, and the SQLite file behind it."""

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

T = TypeVar("T")
Row = dict[str, Any]
Synchronous = Literal["FULL", "NORMAL"]  # NORMAL: losing power may lose the last turns, a killed process nothing

OPEN_MAX = 64  # databases; each costs three file descriptors

TABLES = """
CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS schedules (
  callback TEXT NOT NULL, key TEXT NOT NULL, expression TEXT NOT NULL, zone TEXT NOT NULL, payload TEXT NOT NULL,
  next_at TEXT NOT NULL, failures INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (callback, key));
CREATE TABLE IF NOT EXISTS pauses (
  callback TEXT NOT NULL, key TEXT NOT NULL, note TEXT NOT NULL, at TEXT NOT NULL, "by" TEXT,
  PRIMARY KEY (callback, key));
CREATE TABLE IF NOT EXISTS ledger (
  request_id TEXT PRIMARY KEY, tool TEXT NOT NULL, subject TEXT NOT NULL, fingerprint TEXT NOT NULL,
  arguments TEXT NOT NULL, checks INTEGER NOT NULL DEFAULT 0,
  next_check_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
  id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, taken TEXT NOT NULL, finished_at TEXT, report TEXT);
CREATE TABLE IF NOT EXISTS run_details (run_id INTEGER PRIMARY KEY, details TEXT NOT NULL);
"""


def file_of(agent: str, instance: str) -> str:
    """Where an instance's database is, below the agents' folder. A hash, so no name can lead anywhere else."""
    digest = hashlib.sha256(f"{agent}\0{instance}".encode()).hexdigest()
    return f"{digest[:2]}/{digest}.sqlite"


class Storage(Protocol):
    def sql(self, query: str, *params: Any) -> list[Row]:
        """Run one statement; its rows. Outside `atomically` it commits by itself."""

    def atomically(self, work: Callable[[], T]) -> T:
        """Run `work`, all of it or nothing. It may not nest, and it cannot await."""

    def close(self) -> None:
        """Let go of the database until the next statement."""


class SqliteStorage:
    """One file: opened at the first statement, and made at the first that writes; until then its tables are empty.

    `opened` holds the open ones of a host. The one opened first makes room for the next, and is opened again when it
    is used again.
    """

    def __init__(
        self, path: Path, synchronous: Synchronous = "FULL", opened: "dict[SqliteStorage, None] | None" = None
    ) -> None:
        self._path, self._synchronous = path, synchronous
        self._opened = {} if opened is None else opened
        self._connection: sqlite3.Connection | None = None
        self._has_file = False

    def sql(self, query: str, *params: Any) -> list[Row]:
        cursor = self._open(reading=query.lstrip()[:6].upper() == "SELECT").execute(query, params)
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
            del self._opened[self]

    def _open(self, *, reading: bool = False) -> sqlite3.Connection:
        if self._connection is None or not (reading or self._has_file):
            self.close()
            if len(self._opened) >= OPEN_MAX:
                next(iter(self._opened)).close()
            self._has_file = not reading or self._path.exists()
            self._connection = self._connect()
            self._opened[self] = None
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        if self._has_file:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
        connection = sqlite3.connect(self._path if self._has_file else ":memory:", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={self._synchronous}")
        connection.executescript(TABLES)
        if not connection.execute("SELECT 1 FROM pragma_table_info('pauses') WHERE name = 'by'").fetchone():
            connection.execute('ALTER TABLE pauses ADD COLUMN "by" TEXT')  # a file from before said nobody's name
        return connection
