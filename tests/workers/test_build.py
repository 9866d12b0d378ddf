"""What the build writes is what wrangler takes, and its migrations make D1 what the embedded database is."""

import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from app import migrations
from app.cloudflare.build import Refused, build
from app.cloudflare.fault import together
from config.agents import AGENTS
from config.settings import ROOT
from tests.workers.conftest import Installation
from tests.workers.toolchain.dev import vendor, wrangler

SCHEMA = (
    "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND tbl_name NOT IN ({}) ORDER BY 1, 2"
)
OTHERS = "'d1_migrations', '_cf_METADATA', '_cf_KV', 'alembic_version'"


@pytest.mark.usefixtures("toolchain")
def test_wrangler_would_deploy_it_as_it_is(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(built, folder)
    vendor(folder)
    printed = wrangler(folder, "deploy", "--dry-run", "--outdir", "out")
    assert "Unexpected fields" not in printed
    assert "WARNING" not in printed
    assert re.search(r"env\.TRIAGER \(Triager\)\s+Durable Object", printed)
    assert re.search(r"env\.DB \(triager\)\s+D1 Database", printed)
    for path in ("app/cloudflare/worker.py", "app/agents/triager.py", "templates/base.html"):
        assert (folder / "out" / path).is_file()
    assert not (folder / "out" / "app" / "cli").exists()


def test_a_build_over_another_one_leaves_nothing_of_it_and_what_is_not_its_own(built: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    (again / "src" / "old.py").parent.mkdir(parents=True)
    (again / "src" / "old.py").touch()
    (again / ".wrangler" / "state").mkdir(parents=True)
    build(ROOT, again, AGENTS)
    assert files(again).keys() == files(built).keys()
    assert (again / ".wrangler" / "state").is_dir()


def test_a_refusal_names_what_to_mend_and_leaves_what_was_built(built: Path, tmp_path: Path) -> None:
    eve = {"eve": {"module": "app.agents.eve", "class": "Eve", "scopes": []}}
    before = files(built)
    with pytest.raises(Refused, match="declares no class Eve") as caught:
        build(ROOT, built, AGENTS | eve)
    assert together(caught.value.faults)["durable_objects"] == {"bindings": [{"name": "EVE", "class_name": "Eve"}]}
    assert files(built) == before


def test_the_migrations_make_on_d1_what_they_make_of_an_embedded_database(
    installation: Installation, tmp_path: Path
) -> None:
    migrations.upgrade(tmp_path / "embedded.sqlite")
    with sqlite3.connect(tmp_path / "embedded.sqlite") as embedded:
        assert schema(the_d1(installation.folder)) == schema(embedded)
    words = installation.d1("SELECT rowid FROM ticket_words WHERE ticket_words MATCH 'invoi*'")
    assert words == [{"rowid": 2}]  # the triggers are there, whole: the fixtures went through them


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def the_d1(folder: Path) -> sqlite3.Connection:
    [path] = [each for each in folder.glob(".wrangler/state/v3/d1/**/*.sqlite") if each.name != "metadata.sqlite"]
    return sqlite3.connect(path)


def schema(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    rows = connection.execute(SCHEMA.format(OTHERS)).fetchall()
    return [(kind, name, " ".join((text or "").split())) for kind, name, text in rows]
