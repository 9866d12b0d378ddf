"""The app database's schema, moved by Alembic. Imported only by commands: the app itself never loads Alembic."""

from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from config.settings import ROOT
from db.schema import Base

SCRIPTS = ROOT / "db" / "migrations"


def upgrade(database: Path, revision: str = "head") -> None:
    """Bring the database to `revision`; makes the file and its folder when there is none."""
    database.parent.mkdir(parents=True, exist_ok=True)
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
        return list(compare_metadata(MigrationContext.configure(connection), Base.metadata))


def _connect(database: Path) -> Connection:
    return create_engine(f"sqlite:///{database}", poolclass=NullPool).connect()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
