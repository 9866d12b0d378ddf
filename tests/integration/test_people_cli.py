"""`triager user`, `triager token` and `triager key`, as a shell sees them."""

import base64
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main


@pytest.fixture
def triager(migrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Shell":
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    shutil.copy(migrated, tmp_path / "triager.sqlite")
    return Shell(tmp_path / "triager.sqlite")


class Shell:
    def __init__(self, database: Path) -> None:
        self.database = database

    def __call__(self, line: str, *more: str) -> Result:
        return CliRunner().invoke(main, [*line.split(), *more])

    def json(self, line: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self(f"{line} --json").stdout)
        return found


def test_a_person_is_added_listed_and_disabled(triager: Shell) -> None:
    assert triager("user add Ana ANA@example.test").exit_code == 0
    assert triager("user add Bo bo@example.test --read-only").exit_code == 0
    assert triager("user disable ana@example.test").exit_code == 0
    people = triager.json("user list")
    assert [(one["email"], one["abilities"]) for one in people] == [
        ("ana@example.test", ["operate"]),
        ("bo@example.test", []),
    ]
    assert [one["disabled_at"] is None for one in people] == [False, True]


@pytest.mark.parametrize("email", ["ana@example.test", "Ana@Example.TEST"])
def test_an_address_is_taken_once(triager: Shell, email: str) -> None:
    triager("user add Ana ana@example.test")
    again = triager("user add Anna", email)
    assert (again.exit_code, again.stdout) == (1, "")
    assert "Nobody was added" in again.stderr


@pytest.mark.parametrize(
    ("name", "email"), [("Ana", "ana"), ("Ana", "@x"), ("Ana", "a b@x"), (" ", "a@x"), ("A\nB", "a@x")]
)
def test_a_person_needs_a_name_and_an_address(triager: Shell, name: str, email: str) -> None:
    assert triager("user add", name, email).exit_code == 1
    assert triager.json("user list") == []


def test_disabling_somebody_who_is_not_there_is_refused(triager: Shell) -> None:
    triager("user add Ana ana@example.test")
    triager("user disable ana@example.test")
    for email in ("ana@example.test", "nobody@example.test"):
        assert triager("user disable", email).exit_code == 1


def test_a_token_is_the_only_thing_on_stdout_and_is_kept_only_as_a_hash(triager: Shell) -> None:
    triager("user add Ana ana@example.test")
    issued = triager("token issue cli --user ana@example.test")
    text = issued.stdout.strip()
    assert text.startswith("trg_")
    assert len(text) > 50
    assert text not in issued.stderr
    assert text.encode() not in triager.database.read_bytes()
    assert text.rsplit("_", 1)[-1] not in triager("token list").stdout


def test_json_is_one_document_and_the_rest_goes_to_stderr(triager: Shell) -> None:
    triager("user add Ana ana@example.test")
    issued = triager(
        "token issue mcp --user Ana@example.test --tools tickets_index,tool:tickets_index --expires 30d --json"
    )
    document = json.loads(issued.stdout)
    assert (document["kind"], document["scopes"]) == ("tools", ["tool:tickets_index"])
    assert document["owner"] == "ana@example.test"
    assert "only this once" in issued.stderr
    listed = triager.json("token list")[0]
    assert listed == {name: value for name, value in document.items() if name != "token"}


@pytest.mark.parametrize(
    "tools",
    ["", ",", "*", "tools:read", "tools:tick*", "tickets", "tool:", "tickets_destroy", "tickets_index,", "tool:*"],
)
def test_a_scope_that_names_no_tool_is_refused(triager: Shell, tools: str) -> None:
    triager("user add Ana ana@example.test")
    refused = triager("token issue mcp --user ana@example.test --tools", tools)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "No token was issued" in refused.stderr
    assert triager.json("token list") == []


@pytest.mark.parametrize("expires", ["0d", "30", "-1d", "1w", "1.5d", "9999999d", ""])
def test_a_lifetime_that_is_none_is_a_usage_error(triager: Shell, expires: str) -> None:
    assert triager("token issue x --user ana@example.test", f"--expires={expires}").exit_code == 2


def test_a_disabled_or_unknown_owner_gets_no_token(triager: Shell) -> None:
    triager("user add Ana ana@example.test")
    triager("user disable ana@example.test")
    for email in ("ana@example.test", "nobody@example.test"):
        assert triager("token issue x --user", email).exit_code == 1
    assert triager.json("token list") == []


def test_a_token_is_revoked_once(triager: Shell) -> None:
    triager("user add Ana ana@example.test")
    token_id = json.loads(triager("token issue x --user ana@example.test --json").stdout)["id"]
    assert triager("token revoke", token_id).exit_code == 0
    assert triager.json("token list")[0]["revoked_at"] is not None
    for again in (token_id, "unknown"):
        assert triager("token revoke", again).exit_code == 1


def test_lists_for_people_are_a_line_each_under_a_heading(triager: Shell) -> None:
    assert triager("user list").stdout == ""
    triager("user add Ana ana@example.test")
    heading, line = triager("user list").stdout.splitlines()
    assert heading.split()[:4] == ["id", "name", "email", "abilities"]
    assert line.split()[:4] == ["1", "Ana", "ana@example.test", "operate"]


def test_without_a_database_the_command_that_makes_one_is_named(triager: Shell) -> None:
    triager.database.unlink()
    refused = triager("user list")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "triager db upgrade" in refused.stderr


def test_every_key_is_fresh_and_has_32_bytes(triager: Shell) -> None:
    lines = {triager("key").stdout for _ in range(2)}
    assert len(lines) == 2
    for line in lines:
        name, _, value = line.strip().partition("=")
        assert (name, len(base64.b64decode(value, validate=True))) == ("APP_KEY", 32)
