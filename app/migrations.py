"""The app database's schema, moved by Alembic. Imported only by commands: the app itself never loads Alembic."""

import sqlite3
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.pool import NullPool

from config.settings import ROOT
from db.schema import WORDS, Base

SCRIPTS = ROOT / "db" / "migrations"


def upgrade(database: Path, revision: str = "head") -> None:
    """Bring the database to `revision`; makes the file and its folder, for their owner only, when there is none."""
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    database.touch(mode=0o600)  # SQLite gives the files beside it the same mode
    with _connect(database) as connection:
        command.upgrade(_config(connection), revision)


def downgrade(database: Path, revision: str) -> None:
    with _connect(database) as connection:
        command.downgrade(_config(connection), revision)


def current(database: Path) -> str | None:
    """The revision the database is at; None when it was never migrated."""
    if not database.exists():
        return None
    with _connect(database) as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str | None:
    return ScriptDirectory(str(SCRIPTS)).get_current_head()


def drift(database: Path) -> list[object]:
    """How the migrated database differs from `db/schema.py`; empty when it does not."""
    with _connect(database) as connection:
        context = MigrationContext.configure(connection, opts={"include_name": _is_declared})
        return list(compare_metadata(context, Base.metadata))


def _is_declared(name: str | None, kind: str, _parents: object) -> bool:
    """Not so the index of words, and the tables in which SQLite keeps it."""
    return kind != "table" or not str(name).startswith(WORDS.name)


def _connect(database: Path) -> Connection:
    """Its transactions hold DDL too, which the driver's own do not: a migration that is cut off has not happened."""
    engine = create_engine(URL.create("sqlite", database=str(database)), poolclass=NullPool)
    event.listen(engine, "connect", _leave_transactions_to_us)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine.connect()


def _leave_transactions_to_us(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
