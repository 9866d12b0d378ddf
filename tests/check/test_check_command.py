"""The command itself, in copies of the tree, each with one fault: one document, an exit code, and never a traceback."""

import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from app.check.cli import commands, lines, report
from app.check.finding import error, warning
from app.check.sizes import Size
from app.check.tree import Tree
from config.settings import ROOT

LEFT_OUT = shutil.ignore_patterns(".*cache*", ".venv", ".git", "__pycache__", "var", ".hypothesis")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy") / "tree"
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    return folder


@pytest.fixture(scope="module")
def as_it_is(copy: Path) -> dict[str, Any]:
    return checked(copy)


def run(copy: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app.cli", "check", *options],
        cwd=copy,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def checked(copy: Path, *options: str) -> dict[str, Any]:
    done = run(copy, "--json", *options)
    document: dict[str, Any] = json.loads(done.stdout)
    assert (done.stderr, done.returncode) == ("", 0 if document["ok"] else 1)
    return document


def new(document: dict[str, Any], as_it_is: dict[str, Any]) -> list[dict[str, str]]:
    return [each for each in document["findings"] if each not in as_it_is["findings"] and each["rule"] != "size"]


@pytest.fixture
def planted(copy: Path, request: pytest.FixtureRequest) -> Any:
    """`planted(path, old, new)` edits the copy until the test ends."""

    def edit(path: str, old: str, new: str) -> None:
        before = (copy / path).read_text()
        assert old in before
        (copy / path).write_text(before.replace(old, new, 1))
        request.addfinalizer(partial((copy / path).write_text, before))

    return edit


def test_the_document_says_what_was_found_and_what_each_agent_may_call(as_it_is: dict[str, Any]) -> None:
    assert list(as_it_is) == ["ok", "findings", "agents", "sizes"]
    assert as_it_is["agents"]["triager"]["tools"] == ["tickets_index", "tickets_close"]
    assert set(as_it_is["agents"]["triager"]["scopes"]) == {"tool:tickets_index", "tool:tickets_close"}
    assert [set(size) for size in as_it_is["sizes"]] == [{"what", "lines", "limit"}] * 3


def test_this_tree_breaks_no_rule(as_it_is: dict[str, Any]) -> None:
    assert as_it_is["findings"] == []


def test_a_file_that_is_no_python_is_one_finding(copy: Path, as_it_is: dict[str, Any], planted: Any) -> None:
    planted("routes/tickets.py", "async def show_ticket(", "async def show_ticket(:")
    document = checked(copy)
    assert [(each["rule"], each["where"].partition(":")[0]) for each in new(document, as_it_is)] == [
        ("syntax", "routes/tickets.py")
    ]
    assert "agents" not in document


def test_a_module_that_cannot_be_imported_is_one_finding_at_its_line(
    copy: Path, as_it_is: dict[str, Any], planted: Any
) -> None:
    planted("app/services/tickets.py", "def show(", "1 / 0\n\n\ndef show(")
    number = (copy / "app/services/tickets.py").read_text().splitlines().index("1 / 0") + 1
    [found] = new(checked(copy), as_it_is)
    assert (found["rule"], found["where"]) == ("app", f"app/services/tickets.py:{number}")
    assert found["message"].startswith("The app does not start: ZeroDivisionError: division by zero. Mend it")
    assert new(checked(copy, "--arch"), as_it_is) == []


def test_parts_that_do_not_fit_are_one_finding(copy: Path, as_it_is: dict[str, Any], planted: Any) -> None:
    old = "    operation: NamedDependency[OperationId | None],\n    db: NamedDependency[Database],\n"
    planted("routes/tickets.py", old, "    operation: NamedDependency[OperationId | None],\n")
    [found] = new(checked(copy), as_it_is)
    assert (found["rule"], found["where"]) == ("app", "")
    assert "tickets.close has a preview, so its handler must take `db`." in found["message"]


def test_a_scope_that_names_no_tool_is_a_warning(copy: Path, as_it_is: dict[str, Any], planted: Any) -> None:
    planted("config/agents.py", '"tool:tickets_close"', '"tool:tickets_close", "tool:tickets_delete"')
    document = checked(copy)
    [found] = new(document, as_it_is)
    assert (found["rule"], found["level"]) == ("scope-unknown", "warning")
    assert found["message"].startswith('"triager": "tool:tickets_delete" names no tool. There are: tickets_close,')
    assert document["ok"] == as_it_is["ok"]


def test_two_routes_of_the_product_that_claim_one_name_are_found(
    copy: Path, as_it_is: dict[str, Any], planted: Any
) -> None:
    planted(
        "routes/tickets.py",
        'name="tickets.show", budget=3, guards=[signed_in])',
        'name="tickets_close", budget=3, guards=[signed_in]).agent(description="Show.")',
    )
    [found] = new(checked(copy), as_it_is)
    assert (found["rule"], found["level"]) == ("tool-twice", "error")


def test_a_fault_in_the_registry_is_told_by_its_rule_alone(copy: Path, as_it_is: dict[str, Any], planted: Any) -> None:
    planted("config/agents.py", '"triager": {', "NOBODY: {")
    line = (copy / "config/agents.py").read_text().splitlines().index("    NOBODY: {") + 1
    [found] = new(checked(copy), as_it_is)
    assert (found["rule"], found["where"]) == ("config-literal", f"config/agents.py:{line}")


def test_an_option_that_does_not_exist_is_a_usage_error(copy: Path) -> None:
    done = run(copy, "--ci")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such option" in done.stderr


def test_a_reader_that_leaves_early_is_no_fault(copy: Path) -> None:
    command = f"{sys.executable} -m app.cli check --arch --json | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=copy, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("{\n", "")


def test_an_empty_folder_is_reported_and_not_a_traceback(tmp_path: Path) -> None:
    document = report(Tree(tmp_path, {}), arch=True)
    assert {each.rule for each in document["findings"]} == {"readme-list", "readme-silent"}


def test_people_read_errors_first_rule_by_rule() -> None:
    found = [
        warning("b", "x.py:1", "Two."),
        error("c", "", "Three."),
        error("a", "y.py", "One."),
        error("c", "z.py", "Four."),
    ]
    document = {"findings": found, "agents": {"eve": {"scopes": [], "tools": []}}, "sizes": [Size("runtime", 7, 9)]}
    assert list(lines(document)) == [
        *("error  a", "    y.py: One."),
        *("error  c", "    Three.", "    z.py: Four."),
        *("warning  b", "    x.py:1: Two."),
        "agent eve may call: nothing",
        "    7 of 9 lines of code: runtime",
        "Errors: 3. Warnings: 1.",
    ]


def test_help_is_there() -> None:
    done = CliRunner().invoke(commands[0], ["--help"])
    assert done.exit_code == 0
    assert "--arch" in done.output
