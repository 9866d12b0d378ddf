"""A migration that is cut off has not happened."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from app import migrations


def test_a_migration_that_fails_half_way_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "triager.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE sessions (id TEXT)")  # the last table but one that the first migration makes
    with pytest.raises(OperationalError):
        migrations.upgrade(path)
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        connection.execute("DROP TABLE sessions")
    assert tables == ["sessions"]
    migrations.upgrade(path)
    assert migrations.current(path) == migrations.head()
