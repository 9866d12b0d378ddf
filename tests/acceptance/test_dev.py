"""`triager dev` in an empty folder, and what works beside it."""

import json
import re
import stat
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from app.cli import main
from tests.acceptance.server import Server, on_disk, serving

LINK = re.compile(r"/sign-in/link/(\S+)")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty, and what commands in this process call their own."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.delenv("APP_KEY", raising=False)
    return tmp_path


def triager(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def sign_in(server: Server, secret: str) -> httpx.Response:
    """As a browser does it: look at the page, press its one button."""
    with httpx.Client(base_url=server.address, follow_redirects=True) as browser:
        page = browser.get(f"/sign-in/link/{secret}").text
        csrf = re.search(r'name="_csrf" value="(\w+)"', page)
        assert csrf
        return browser.post("/sign-in/link", data={"secret": secret, "_csrf": csrf[1]})


def test_it_sets_everything_up_and_lets_one_person_in(folder: Path) -> None:
    with serving(folder, "dev") as server:
        assert server.client.get("/health").json() == {"ok": True}
        assert stat.S_IMODE((folder / ".env").stat().st_mode) == 0o600
        assert on_disk(folder, "SELECT count(*) FROM tickets") == [(4,)]
        refused = triager("dev")
        found = LINK.search(refused.stderr)
        assert found
        assert "Sign out" in sign_in(server, found[1]).text
        again = sign_in(server, found[1])
        assert (again.status_code, "Sign out" in again.text) == (401, False)


def test_a_second_one_is_refused_and_names_the_first(folder: Path) -> None:
    with serving(folder, "dev") as server:
        refused = triager("dev")
        assert refused.exit_code == 1
        assert f"Process {server.pid} " in refused.stderr
        assert server.address in refused.stderr
        assert triager("serve").exit_code == 1


def test_a_sweep_beside_it_runs_in_it(folder: Path) -> None:
    with serving(folder, "dev"):
        swept = json.loads(triager("sweep", "--json").stdout)
        assert (swept["stale"], swept["asked"]) == (2, 2)
    assert json.loads(triager("sweep", "--json").stdout)["deferred"] == 2


def test_a_second_start_keeps_what_is_there(folder: Path) -> None:
    with serving(folder, "dev"):
        key = (folder / ".env").read_text()
    with serving(folder, "dev") as server:
        assert (folder / ".env").read_text() == key
        assert not any("token" in line for line in server.printed)
        assert on_disk(folder, "SELECT count(*) FROM tickets") == [(4,)]


def test_serve_without_a_key_or_on_an_old_schema_says_which_command_helps(folder: Path) -> None:
    unmigrated = triager("serve")
    assert (unmigrated.exit_code, "triager db upgrade" in unmigrated.stderr) == (1, True)
    triager("db", "upgrade")
    keyless = triager("serve")
    assert (keyless.exit_code, "triager key" in keyless.stderr) == (1, True)


def test_a_key_that_is_none_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    triager("db", "upgrade")
    monkeypatch.setenv("APP_KEY", "zzz")
    refused = triager("serve")
    assert (
        refused.exit_code,
        "base64 of 32 bytes. Nothing was done." in refused.stderr,
        "Traceback" in refused.stderr,
    ) == (
        1,
        True,
        False,
    )


def test_a_data_directory_with_odd_characters_is_a_path_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "q?mode=memory %41"
    monkeypatch.setenv("DATA_DIR", str(odd))
    assert triager("db", "upgrade").exit_code == 0
    assert (odd / "triager.sqlite").exists()
    assert [path.name for path in tmp_path.iterdir()] == [odd.name]
