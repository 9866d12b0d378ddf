"""Settings come from the environment, over `.env`; a bad one is refused by name."""

import ast
import re
from pathlib import Path

import pytest

from config import settings
from config.settings import load


def write_env(directory: Path, text: str) -> dict[str, str]:
    (directory / ".env").write_text(text)
    return {"DATA_DIR": str(directory)}


def test_without_any_variable_the_defaults_hold(tmp_path: Path) -> None:
    loaded = load({"DATA_DIR": str(tmp_path)})
    assert (loaded.host, loaded.port, loaded.approval_ttl_s, loaded.app_key) == ("127.0.0.1", 3336, 259_200, "")
    assert loaded.database == tmp_path / "triager.sqlite"


def test_the_environment_wins_over_the_env_file(tmp_path: Path) -> None:
    environ = write_env(tmp_path, "# ours\nPORT=1\nHOST = ::1\n\nAPP_KEY=a=b=\n")
    loaded = load({**environ, "PORT": "2"})
    assert (loaded.port, loaded.host, loaded.app_key) == (2, "::1", "a=b=")


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "٣", "²", " 7", "9" * 5_000])
@pytest.mark.parametrize("name", ["PORT", "APPROVAL_TTL", "APPROVAL_USE_TTL", "SESSION_TTL"])
def test_a_number_that_is_none_is_refused_by_name(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=rf"^{name} must be a whole number .*{re.escape(text[:40])}.*Nothing was started"
    ):
        load({"DATA_DIR": str(tmp_path), name: text})


def test_a_port_above_65535_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^PORT"):
        load({"DATA_DIR": str(tmp_path), "PORT": "65536"})


def test_a_time_to_live_of_zero_is_refused_but_port_zero_is_any_free_one(tmp_path: Path) -> None:
    assert load({"DATA_DIR": str(tmp_path), "PORT": "0"}).port == 0
    with pytest.raises(ValueError, match="APPROVAL_TTL"):
        load({"DATA_DIR": str(tmp_path), "APPROVAL_TTL": "0"})


def test_lists_are_split_at_commas(tmp_path: Path) -> None:
    assert load({"DATA_DIR": str(tmp_path), "ALLOWED_HOSTS": "a.test, b.test,"}).allowed_hosts == ("a.test", "b.test")


def test_keys_are_not_shown(tmp_path: Path) -> None:
    shown = repr(load({"DATA_DIR": str(tmp_path), "APP_KEY": "one", "APP_PREVIOUS_KEYS": "two"}))
    assert "one" not in shown
    assert "two" not in shown


def test_every_variable_that_is_read_is_described_once() -> None:
    source = Path(settings.__file__).read_text()
    read = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    names = {text for text in read if isinstance(text, str) and re.fullmatch(r"[A-Z][A-Z_]{3,}", text)}
    described = re.findall(r"^    \w+: .*# ([A-Z][A-Z_]+)\b", source, re.MULTILINE)
    assert sorted(described) == sorted(names)
