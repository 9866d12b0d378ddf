"""`Database.read` and `Database.write`: one call, one session, one transaction, where the engine has transactions.

A service is a plain function whose first parameter is a Session. It cannot await, so no transaction is ever open
across a dispatch, an HTTP call or a sleep. `write` repeats the whole function while another process holds the write
lock: instants and ids therefore come in as arguments.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from sqlalchemy.pool import QueuePool

from app.domain import Unavailable
from app.runtime import invocation

P = ParamSpec("P")
T = TypeVar("T")

BUSY_WAIT_S = 10.0  # how long a write waits for another process's lock before it answers 503
BUSY_STEP_S = (0.005, 0.01, 0.02, 0.05)  # the last one repeats


class Database:
    """The app's database, over any engine of SQLite's dialect. Counts the statements of each invocation."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        event.listen(engine, "before_cursor_execute", _count)

    async def read(self, service: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `service` on one snapshot. Readers never wait for a writer."""
        with self._session(write=False) as session:
            return service(session, *args, **kwargs)

    async def write(self, service: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `service` in one transaction and commit. Raises Unavailable when the lock is not to be had in time."""
        waited, attempt = 0.0, 0
        while True:
            try:
                with self._session(write=True) as session, session.begin():
                    return service(session, *args, **kwargs)
            except OperationalError as error:
                # A commit that failed is ambiguous, but SQLite says BUSY only at BEGIN IMMEDIATE: nothing has run yet.
                if not _is_busy(error):
                    raise
            if waited >= BUSY_WAIT_S:
                raise Unavailable("The database is busy. Nothing was changed. Try again in a moment.")
            step = BUSY_STEP_S[min(attempt, len(BUSY_STEP_S) - 1)]
            await asyncio.sleep(step)
            waited, attempt = waited + step, attempt + 1

    def close(self) -> None:
        self._engine.dispose()

    def _session(self, *, write: bool) -> Session:
        engine = self._engine.execution_options(immediate=True) if write else self._engine
        return Session(engine, expire_on_commit=False, execution_options={"synchronize_session": False})


class SqliteDatabase(Database):
    """One file. Cheap to make: nothing is opened before the first statement."""

    def __init__(self, path: Path) -> None:
        self.path = path
        url = URL.create("sqlite", database=str(path))
        # A session rolls back when it closes; the pool need not do so again.
        engine = create_engine(url, poolclass=QueuePool, pool_size=2, pool_reset_on_return=None)
        event.listen(engine, "connect", _configure)
        event.listen(engine, "begin", _begin)
        super().__init__(engine)


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # the begin event below says which kind of transaction starts
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=0", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Any) -> None:
    # On the driver's connection, so that it is not counted: D1 has no such statement.
    immediate = connection.get_execution_options().get("immediate", False)
    try:
        connection.connection.dbapi_connection.execute("BEGIN IMMEDIATE" if immediate else "BEGIN")
    except sqlite3.OperationalError as error:
        raise OperationalError("BEGIN", None, error) from error


def _count(*_: object) -> None:
    if current := invocation.current():
        current.spend()


def _is_busy(error: OperationalError) -> bool:
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
