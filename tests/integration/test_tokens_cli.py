"""`triager token`, as a shell sees it."""

import json
import shutil
from pathlib import Path

import pytest
from support_cli import Shell


@pytest.fixture
def triager(migrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    shutil.copy(migrated, tmp_path / "triager.sqlite")
    return Shell(tmp_path / "triager.sqlite")


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
    assert listed == {name: value for name, value in document.items() if name not in ("token", "warnings")}
    assert document["warnings"] == []


@pytest.mark.parametrize(
    "tools",
    [
        *(
            "",
            ",",
            "*",
            "tools:tick*",
            "tickets",
            "tool:",
            "tickets_destroy",
            "tickets_index,",
            "tool:*",
            "tools:read.*",
        ),
        *(
            " tools:read ",
            "tickets_index, tickets_close",
            "Tools:read",
            "TOOL:tickets_index",
            "tool:tool:tickets_index",
        ),
    ],
)
def test_a_scope_that_names_no_tool_is_refused(triager: Shell, tools: str) -> None:
    triager("user add Ana ana@example.test")
    refused = triager("token issue mcp --yes --user ana@example.test --tools", tools)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "names no tool" in refused.stderr
    assert "No token was issued" in refused.stderr
    assert triager.json("token list") == []


@pytest.mark.parametrize(
    ("tools", "meant"),
    [
        ("tickets_indx", "tickets_index"),
        (" tools:read", "tools:read"),
        ("tools:red", "tools:read"),
        ("tool:Tickets_close", "tool:tickets_close"),
    ],
)
def test_a_refused_scope_says_what_may_have_been_meant(triager: Shell, tools: str, meant: str) -> None:
    refused = triager("token issue mcp --user ana@example.test --tools", tools)
    assert f'Did you mean "{meant}"?' in refused.stderr


def test_what_only_reads_is_stored_as_the_tools_that_it_is_today(triager: Shell) -> None:
    triager("user add Ana ana@example.test")
    issued = triager.json("token issue mcp --user ana@example.test --tools tools:read --expires 1d")
    assert (issued["scopes"], issued["warnings"]) == (["tool:tickets_index"], [])
    assert triager.json("token list")[0]["scopes"] == ["tool:tickets_index"]


def test_every_tool_is_granted_only_when_that_is_confirmed(triager: Shell) -> None:
    triager("user add Ana ana@example.test")
    everything = "token issue mcp --user ana@example.test --expires 1d --tools tickets_index,tools:*"
    refused = triager(everything)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "Add: --yes" in refused.stderr
    issued = triager.json(f"{everything} --yes")
    assert issued["scopes"] == ["tool:tickets_index", "tool:tickets_close"]


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ("--expires 1d", ()),
        ("", ("never expires",)),
        ("--tools tickets_index --expires 1d", ()),
        ("--tools tickets_close --expires 1d", ()),
        ("--tools tickets_index,tickets_close --expires 1d", ("reads and changes",)),
        ("--tools tickets_index,tickets_close", ("never expires", "reads and changes")),
    ],
)
def test_a_token_that_could_be_safer_is_issued_with_a_warning_beside_it(
    triager: Shell, options: str, warned: tuple[str, ...]
) -> None:
    triager("user add Ana ana@example.test")
    issued = triager("token issue x --user ana@example.test --json", *options.split())
    warnings = json.loads(issued.stdout)["warnings"]
    assert len(warnings) == len(warned)
    for words, warning in zip(warned, warnings, strict=True):
        assert words in warning
        assert f"Warning: {warning}" in issued.stderr


def test_a_person_who_may_only_look_owns_no_token_that_calls_tools(triager: Shell) -> None:
    triager("user add Bo bo@example.test --read-only")
    for tools in ("tickets_close", "tools:read"):
        refused = triager("token issue mcp --user bo@example.test --tools", tools)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert "Nobody enabled who may change things has the address" in refused.stderr
    assert triager("token issue mine --user bo@example.test").exit_code == 0


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
