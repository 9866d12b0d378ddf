"""The floors, the sums and the syntax: each fault is found where it was planted, and alone."""

from pathlib import Path

import pytest

from app.check import floors, sizes
from app.check.tree import Tree, read, syntax_findings
from app.cli import DELETABLE
from tests.check.planted import new_in, the_tree, told, with_text


def found(path: str, source: str) -> list[tuple[str, str]]:
    return told(floors.floor_findings(Tree(Path("nowhere"), {path: source})))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("app/services/tickets.py", "from app.auth import operator"),
        ("app/services/tickets.py", "import routes.tickets"),
        ("app/domain.py", "from app.schemas import TicketOut"),
        ("app/runtime/errors.py", "from app.runtime.tools.results import Done"),
        ("app/runtime/tools/gate.py", "from app.runtime.durable import ledger"),
        ("db/engine.py", "from app import services"),
        ("app/services/tickets.py", "from ..auth import operator"),
    ],
)
def test_an_import_that_goes_up_is_found(path: str, source: str) -> None:
    assert found(path, source) == [("floor", f"{path}:1")]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("routes/tickets.py", "from app.agents.triager import Triager"),
        ("app/check/cli.py", "from app import migrations"),
    ],
)
def test_an_import_of_a_neighbour_is_found(path: str, source: str) -> None:
    assert found(path, source) == [("floor", f"{path}:1")]


def test_an_import_inside_a_function_is_found_even_when_it_goes_down() -> None:
    source = "def close():\n    import app.domain"
    assert found("app/services/tickets.py", source) == [("floor-function", "app/services/tickets.py:2")]


def test_an_import_under_type_checking_counts() -> None:
    source = "if TYPE_CHECKING:\n    from app.main import create_app"
    assert found("db/engine.py", source) == [("floor", "db/engine.py:2")]


@pytest.mark.parametrize(
    "source", ["from app.domain import TicketId", "import db.schema", "from config import settings"]
)
def test_runtime_imports_nothing_of_ours_outside_itself(source: str) -> None:
    assert found("app/runtime/tools/gate.py", source) == [("floor-only", "app/runtime/tools/gate.py:1")]


@pytest.mark.parametrize(
    "source", ["from app.services import tickets", "from app.runtime.durable.host import Host", "import sqlalchemy"]
)
def test_an_agent_reaches_the_app_through_its_tools_only(source: str) -> None:
    assert found("app/agents/triager.py", source) == [("floor-only", "app/agents/triager.py:1")]


def test_an_agent_may_import_its_own_package_the_domain_the_base_class_and_the_results() -> None:
    source = "import re\nfrom app.agents import sweep_plan\nfrom app.domain import TicketId\n"
    source += "from app.runtime.durable.agent import Agent\nfrom app.runtime.tools.results import Done"
    assert found("app/agents/triager.py", source) == []


def test_nothing_depends_on_a_folder_that_can_be_deleted() -> None:
    assert found("app/cli/demo.py", "from app.measure import floors") == [("floor", "app/cli/demo.py:1")]


def test_a_file_on_no_floor_is_found() -> None:
    assert found("app/helpers.py", "import re") == [("floor-unknown", "app/helpers.py")]


def test_imports_that_go_down_are_fine() -> None:
    assert found("routes/tickets.py", "import litestar\nfrom app import domain, services\nfrom . import pages") == []


def test_both_lists_of_deletable_folders_are_the_same() -> None:
    assert DELETABLE == floors.DELETABLE


@pytest.mark.parametrize("source", ["def close(:\n", "x = 1\0", "\udcff = 1"])
def test_a_file_that_is_no_python_is_found_and_the_others_are_looked_at(source: str) -> None:
    tree = Tree(Path("nowhere"), {"db/engine.py": source, "db/schema.py": "import app.main"})
    [fault] = syntax_findings(tree)
    assert (fault.rule, fault.where.partition(":")[0]) == ("syntax", "db/engine.py")
    assert told(floors.floor_findings(tree)) == [("floor", "db/schema.py:1")]


def test_a_fault_of_the_floors_is_found_alone_in_the_whole_tree() -> None:
    text = the_tree().files["app/domain.py"]
    assert told(new_in(with_text("app/domain.py", f"{text}\nimport db.engine\n"))) == [
        ("floor", f"app/domain.py:{text.count(chr(10)) + 2}")
    ]


def test_sizes_count_pages_but_not_the_static_files() -> None:
    texts = {
        "routes/x.py": "a\nb\n",
        "routes/console/x.py": "a\nb\nc\n",
        "templates/p.html": "a\n",
        "templates/static/h.js": "a\n",
        "app/runtime/x.py": "a",
    }
    assert {size.what: size.lines for size in sizes.sizes(Tree(Path("nowhere"), texts))} == {
        "runtime": 1,
        "the console": 4,
        "what one reads to change behaviour": 2,
    }


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    source = (
        '"""What it is\nfor."""\n\nx = 1  # why\n# a comment\n\n\ndef f() -> int:\n    """Says what."""\n    return x\n'
    )
    assert sizes.code_lines("app/x.py", source) == 3


def test_a_sum_that_reached_its_limit_is_found() -> None:
    [runtime, _], [console, _], [behaviour, _] = sizes.SUMS.values()
    texts = {
        "app/services/x.py": "x = 1\n" * behaviour,
        "routes/console/x.py": "x = 1\n" * (console - 1),
        "app/runtime/x.py": "x = 1\n" * (runtime - 1),
    }
    [finding] = sizes.size_findings(Tree(Path("nowhere"), texts))
    assert (finding.rule, finding.level) == ("size", "error")
    assert finding.message.startswith("what one reads to change behaviour")


def test_a_tree_is_read_without_what_python_leaves_in_it(tmp_path: Path) -> None:
    for path in ("app/x.py", "app/__pycache__/x.pyc", "var/notes.py", "README.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x = 1\n")
    assert set(read(tmp_path).files) == {"app/x.py", "README.md"}
