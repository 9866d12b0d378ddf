"""Tests of the services, again, on a database whose statements each commit by themselves."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from db.engine import Database
from tests.d1.double import D1Database


@pytest.fixture(autouse=True)
def _on_d1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for those that build the whole product."""
    monkeypatch.setattr("app.main.SqliteDatabase", D1Database)


@pytest.fixture
def database(migrated: Path, tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "triager.sqlite"
    shutil.copy(migrated, path)
    database = D1Database(path)
    yield database
    database.close()
