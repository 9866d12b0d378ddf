"""`triager cloudflare`, as it is typed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.cloudflare import cli
from config.agents import AGENTS


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["cloudflare", *arguments], catch_exceptions=False)


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cli, "TARGET", tmp_path / ".cloudflare")
    return tmp_path / ".cloudflare"


def test_a_build_says_what_it_comes_to_what_the_platform_takes_and_what_to_do_next(target: Path) -> None:
    done = run("build")
    assert done.exit_code == 0
    assert "A Worker takes 64 MiB before compression (developers.cloudflare.com/workers/platform/limits)" in done.stdout
    assert "uv run pywrangler dev" in done.stdout
    assert {path.name for path in target.iterdir()} == {
        "migrations",
        "public",
        "pyproject.toml",
        "src",
        "wrangler.jsonc",
    }
    (target / "python_modules").mkdir()
    (target / "python_modules" / "some.py").write_bytes(bytes(3 * 2**20))
    assert "3.0 MiB of others" in run("build").stdout


def test_a_refusal_comes_before_any_work_and_prints_the_json_to_paste(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(AGENTS, "eve", {"module": "app.agents.eve", "class": "Eve", "scopes": []})
    done = run("build")
    assert done.exit_code == 1
    assert not target.exists()
    assert json.loads(done.stdout) == {
        "durable_objects": {"bindings": [{"name": "EVE", "class_name": "Eve"}]},
        "migrations": [{"tag": "v2", "new_sqlite_classes": ["Eve"]}],
    }
    assert 'config/agents.py: "eve": app.agents.eve declares no class Eve.' in done.stderr
    assert "Nothing was written" in done.stderr


def test_a_registry_that_is_not_right_is_refused_first(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGENTS, "eve", {"module": "app.agents.eve"})
    done = run("build")
    assert done.exit_code == 1
    assert "give it a module and a class" in done.stderr
    assert not target.exists()


def test_a_seed_is_sql_on_stdout_and_its_token_is_not_in_it() -> None:
    done = run("seed")
    assert all(line.startswith("INSERT INTO ") and line.endswith(";") for line in done.stdout.splitlines())
    token = done.stderr.split()[-1]
    assert token.startswith("trg_")
    assert token not in done.stdout
