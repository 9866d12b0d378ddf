"""The SQL for D1, run on SQLite: it comes to what the embedded installation's own commands come to."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app import migrations
from app.cloudflare import sql
from app.services import tokens
from db import fixtures
from db.engine import SqliteDatabase

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
TOKEN = tokens.fresh(bytes)
SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE tbl_name != 'alembic_version' ORDER BY 1, 2"
pytestmark = pytest.mark.anyio


@pytest.fixture
def migrated_by_sql() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for _, script in sql.migrations():
        connection.executescript(script)
    return connection


def schema(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    return [(kind, name, " ".join((text or "").split())) for kind, name, text in connection.execute(SCHEMA)]


def test_the_migrations_come_to_the_same_schema(migrated_by_sql: sqlite3.Connection, tmp_path: Path) -> None:
    migrations.upgrade(tmp_path / "embedded.sqlite")
    with sqlite3.connect(tmp_path / "embedded.sqlite") as embedded:
        assert schema(migrated_by_sql) == schema(embedded)


def test_each_migration_is_a_file_in_order_and_leaves_the_revision_it_comes_to() -> None:
    connection = sqlite3.connect(":memory:")
    names = []
    for name, script in sql.migrations():
        connection.executescript(script)
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(name.partition("_")[0],)]
        names.append(name)
    assert names[0] == "0001_first_schema.sql"
    assert names == sorted(names)


async def test_a_seed_has_the_rows_of_triager_seed(migrated_by_sql: sqlite3.Connection, tmp_path: Path) -> None:
    migrations.upgrade(tmp_path / "embedded.sqlite")
    database = SqliteDatabase(tmp_path / "embedded.sqlite")
    await database.write(fixtures.plant, NOW)
    database.close()
    migrated_by_sql.executescript(sql.seed(TOKEN, NOW))
    with sqlite3.connect(tmp_path / "embedded.sqlite") as embedded:
        for table in ("tickets", "comments", "users"):
            every = f"SELECT * FROM {table} ORDER BY id"  # noqa: S608 (our own names)
            assert migrated_by_sql.execute(every).fetchall() == embedded.execute(every).fetchall() != []
    hashed = migrated_by_sql.execute("SELECT hashed FROM api_tokens").fetchall()
    assert hashed == [(tokens.hashed(TOKEN),)]
    assert TOKEN not in sql.seed(TOKEN, NOW)


def test_a_database_that_has_rows_takes_no_second_seed(migrated_by_sql: sqlite3.Connection) -> None:
    migrated_by_sql.executescript(sql.seed(TOKEN, NOW))
    with pytest.raises(sqlite3.IntegrityError):
        migrated_by_sql.executescript(sql.seed(TOKEN, NOW))
