"""The schema moves up and down, and is what `db/schema.py` says."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from app import migrations
from app.cli import common
from app.domain import Refusal
from config.settings import Settings


def tables(path: Path) -> set[str]:
    with sqlite3.connect(path) as connection:
        names = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
        }
    connection.close()
    return names


def test_the_migrated_schema_is_the_declared_one(migrated: Path) -> None:
    assert migrations.drift(migrated) == []


def test_down_leaves_nothing_and_up_again_brings_everything_back(migrated: Path, tmp_path: Path) -> None:
    path = tmp_path / "moving.sqlite"
    shutil.copy(migrated, path)
    migrations.downgrade(path, "base")
    assert tables(path) == {"alembic_version"}
    assert migrations.current(path) is None
    migrations.upgrade(path)
    assert tables(path) == tables(migrated)
    assert migrations.current(path) == migrations.head()


def test_an_upgrade_makes_the_folder_and_repeats_without_harm(tmp_path: Path) -> None:
    path = tmp_path / "new" / "triager.sqlite"
    migrations.upgrade(path)
    migrations.upgrade(path)
    assert migrations.current(path) == migrations.head()


@pytest.mark.parametrize("there", [False, True])
def test_a_command_refuses_a_database_that_is_missing_or_at_an_old_schema(there: bool, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    if there:
        migrations.upgrade(settings.database)
        migrations.downgrade(settings.database, "base")
    with pytest.raises(Refusal, match=r"Nothing was done\. Run: triager db upgrade"), common.database(settings):
        pytest.fail("it was opened")
    assert settings.database.exists() == there
