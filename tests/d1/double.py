"""A D1 binding over a file of SQLite's: each statement commits by itself, and D1's limits hold. For its logic alone.

The real one is met in tests/workers.
"""

import sqlite3
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from app.cloudflare.d1 import PARAMETERS_MAX, WITH_NAMES, engine
from db.engine import Database

SQL_MAX_BYTES, TEXT_MAX_BYTES = 100_000, 2_000_000
LIMITS = {  # as workerd sets them
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 32,
}


class D1Double:
    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA foreign_keys=ON")
        for limit, value in LIMITS.items():
            self.connection.setlimit(limit, value)

    def prepare(self, sql: str) -> "Statement":
        assert len(sql.encode()) <= SQL_MAX_BYTES
        assert not sql.lstrip().upper().startswith(("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "PRAGMA"))
        return Statement(self.connection, sql)


class Statement:
    def __init__(self, connection: sqlite3.Connection, sql: str, parameters: tuple[Any, ...] = ()) -> None:
        self._connection, self._sql, self._parameters = connection, sql, parameters

    def bind(self, *parameters: Any) -> "Statement":
        assert len(parameters) <= PARAMETERS_MAX, f"{len(parameters)} parameters: {self._sql}"
        for one in parameters:
            assert one is None or isinstance(one, int | float | str), f"{one!r} does not cross to JavaScript as it is"
            assert not isinstance(one, int) or abs(one) < 2**53
            assert not isinstance(one, str) or len(one.encode()) <= TEXT_MAX_BYTES
        return Statement(self._connection, self._sql, parameters)

    async def raw(self, options: dict[str, bool]) -> list[list[Any]]:
        assert options == WITH_NAMES
        cursor = self._connection.execute(self._sql, self._parameters)
        return [[column[0] for column in cursor.description or ()], *map(list, cursor.fetchall())]


class D1Database(Database):
    """In place of SqliteDatabase."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.binding = D1Double(path)
        super().__init__(engine(self.binding, run_sync))

    def close(self) -> None:
        super().close()
        self.binding.connection.close()


def run_sync(work: Awaitable[Any]) -> Any:
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits for something")
