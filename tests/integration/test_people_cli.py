"""`triager user` and `triager key`, as a shell sees them."""

import base64
import shutil
from pathlib import Path

import pytest
from support_cli import Shell


@pytest.fixture
def triager(migrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    shutil.copy(migrated, tmp_path / "triager.sqlite")
    return Shell(tmp_path / "triager.sqlite")


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
