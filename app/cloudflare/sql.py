"""The database of a Worker as SQL: its migrations, and what a fresh one starts with. D1 takes nothing else."""

from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from pathlib import Path

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Table, create_engine, text
from sqlalchemy.orm import Session

from app.services import tokens
from config.settings import ROOT
from db import fixtures
from db.schema import Base

SCRIPTS = ROOT / "db" / "migrations"
REVISION = """
CREATE TABLE IF NOT EXISTS alembic_version (version_num TEXT PRIMARY KEY);
DELETE FROM alembic_version;
INSERT INTO alembic_version VALUES ('{}');
"""  # where /health/ready looks for it, on every host


def migrations() -> Iterator[tuple[str, str]]:
    """File names for `wrangler d1 migrations`, which keeps its own account of them, and their SQL; oldest first."""
    scripts = ScriptDirectory(str(SCRIPTS)).walk_revisions()
    for script in reversed(list(scripts)):
        written = StringIO()
        context = MigrationContext.configure(
            dialect_name="sqlite", opts={"as_sql": True, "output_buffer": written, "target_metadata": Base.metadata}
        )
        with Operations.context(context):
            script.module.upgrade()
        yield f"{Path(script.path).stem}.sql", written.getvalue() + REVISION.format(script.revision)


def seed(token: str, now: datetime) -> str:
    """The rows of `triager seed`, and an operator's token, for a database without any."""
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        fixtures.plant(session, now)
        tokens.issue(session, token, now, name="operator-cli", email=fixtures.EMAIL, scopes=[], expires_at=None)
        return "\n".join(line for table in Base.metadata.sorted_tables for line in _rows(session.connection(), table))


def _rows(connection: Connection, table: Table) -> Iterator[str]:
    names = [column.name for column in table.columns]
    columns = ", ".join(f'"{name}"' for name in names)
    quoted = ", ".join(f'quote("{name}")' for name in names)
    rows = connection.execute(text(f'SELECT {quoted} FROM "{table.name}"'))  # noqa: S608 (our own names)
    for row in rows:
        yield f'INSERT INTO "{table.name}" ({columns}) VALUES ({", ".join(row)});'  # noqa: S608 (quoted by SQLite)
