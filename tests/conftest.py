"""What every test may ask for: a migrated database of its own, and a clock that stands still."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog

from app import migrations
from db.engine import Database, SqliteDatabase


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 3, 9, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _default_logs() -> Iterator[None]:
    """A command that serves configures the log of its process, and in tests that process is ours."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database at the newest schema; copy it, do not open it."""
    path = tmp_path_factory.mktemp("template") / "triager.sqlite"
    migrations.upgrade(path)
    return path


@pytest.fixture
def database(migrated: Path, tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "triager.sqlite"
    shutil.copy(migrated, path)
    database = SqliteDatabase(path)
    yield database
    database.close()
