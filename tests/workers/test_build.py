"""What the build writes is what wrangler takes, and its migrations make D1 what the embedded database is."""

import re
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app import migrations
from app.cloudflare import sql
from app.services import tokens
from tests.workers.toolchain.dev import prepare, wrangler

SCHEMA = (
    "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND tbl_name NOT IN ({}) ORDER BY 1, 2"
)
OTHERS = "'d1_migrations', '_cf_METADATA', '_cf_KV', 'alembic_version'"
NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def folder(built: Path, tmp_path_factory: pytest.TempPathFactory, toolchain: None) -> Path:
    return prepare(built, tmp_path_factory.mktemp("folder"))


def test_wrangler_would_deploy_it(folder: Path) -> None:
    printed = wrangler(folder, "deploy", "--dry-run", "--outdir", "out")
    assert "Unexpected fields" not in printed
    assert "WARNING" not in printed
    assert re.search(r"env\.TRIAGER \(Triager\)\s+Durable Object", printed)
    assert re.search(r"env\.DB \(triager\)\s+D1 Database", printed)
    assert (folder / "out" / "app" / "cloudflare" / "worker.py").is_file()
    assert (folder / "out" / "templates" / "base.html").is_file()


def test_the_migrations_make_the_same_schema_on_d1_and_the_fixtures_fit_in(folder: Path, tmp_path: Path) -> None:
    wrangler(folder, "d1", "migrations", "apply", "DB", "--local")
    d1 = the_d1(folder)
    migrations.upgrade(tmp_path / "embedded.sqlite")
    with sqlite3.connect(tmp_path / "embedded.sqlite") as embedded:
        assert schema(d1) == schema(embedded)
    (folder / "seed.sql").write_text(sql.seed(tokens.fresh(bytes), NOW))
    wrangler(folder, "d1", "execute", "DB", "--local", "--file", "seed.sql")
    assert d1.execute("SELECT count(*), sum(status = 'open') FROM tickets").fetchone() == (4, 3)
    words = "SELECT rowid FROM ticket_words WHERE ticket_words MATCH 'invoi*'"
    assert d1.execute(words).fetchall() == [(2,)]  # the triggers are there, whole


def the_d1(folder: Path) -> sqlite3.Connection:
    [path] = [each for each in folder.glob(".wrangler/state/v3/d1/**/*.sqlite") if each.name != "metadata.sqlite"]
    return sqlite3.connect(path)


def schema(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    rows = connection.execute(SCHEMA.format(OTHERS)).fetchall()
    return [(kind, name, " ".join((text or "").split())) for kind, name, text in rows]
