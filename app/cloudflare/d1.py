"""D1 as an engine of SQLAlchemy's: SQLite's own dialect, so the SQL is the same, over a binding that answers promises.

Each statement commits by itself: a commit has nothing to do, and a rollback undoes nothing.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import Engine, StaticPool, create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

PARAMETERS_MAX = 100  # that D1 binds in one statement
BIG = 2**52  # from about here on, a number of Python's is a BigInt there
WITH_NAMES = {"columnNames": True}

RunSync = Callable[[Awaitable[Any]], Any]  # waits for a promise, in the middle of a synchronous function


def engine(binding: Any, run_sync: RunSync) -> Engine:
    """Over the binding of one request, or of one object: make it there, and keep it no longer."""
    registry.register("sqlite.d1", __name__, "D1Dialect")
    return create_engine(
        "sqlite+d1://", module=DBAPI, creator=lambda: Connection(binding, run_sync), poolclass=StaticPool
    )


class D1Dialect(SQLiteDialect):
    driver = "d1"
    supports_statement_cache = True
    use_insertmanyvalues_wo_returning = True  # a list of rows is one statement
    insertmanyvalues_max_parameters = PARAMETERS_MAX

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        """There is none, and asking would be a statement."""
        raise NotImplementedError


class Error(Exception):
    """As PEP 249 wants it; it says what D1 said."""


class DatabaseError(Error):
    pass


class OperationalError(DatabaseError):
    pass


class IntegrityError(DatabaseError):
    pass


class DBAPI:
    """What SQLAlchemy asks of a driver's module."""

    paramstyle = "qmark"
    sqlite_version_info = (3, 46, 0)
    Error, DatabaseError, OperationalError, IntegrityError = Error, DatabaseError, OperationalError, IntegrityError


class Connection:
    def __init__(self, binding: Any, run_sync: RunSync) -> None:
        self._binding, self._run_sync = binding, run_sync

    def cursor(self) -> "Cursor":
        return Cursor(self)

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...

    def run(self, sql: str, parameters: Sequence[Any]) -> list[list[Any]]:
        """The columns' names, and the rows. Raises IntegrityError or OperationalError."""
        statement = self._binding.prepare(sql)
        try:
            rows: list[list[Any]] = self._run_sync(statement.bind(*map(_bound, parameters)).raw(WITH_NAMES))
        except Exception as error:
            kind = IntegrityError if "constraint failed" in str(error) else OperationalError
            raise kind(str(error)) from error
        return rows


def _bound(value: Any) -> Any:
    """A number that would cross as a BigInt, which D1 refuses, crosses as a float: up to 2^53 it is the same."""
    return float(value) if type(value) is int and abs(value) >= BIG else value


class Cursor:
    arraysize, rowcount, lastrowid = 1, -1, None

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.description: list[tuple[Any, ...]] | None = None
        self._rows: Iterator[tuple[Any, ...]] = iter(())

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        names, *rows = self._connection.run(sql, parameters) or [[]]
        self.description = [(name, *(None,) * 6) for name in names] or None
        self._rows = map(tuple, rows)

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(self._rows, None)

    def fetchmany(self, size: int = arraysize) -> list[tuple[Any, ...]]:
        return [row for _, row in zip(range(size), self._rows, strict=False)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._rows)

    def close(self) -> None: ...
