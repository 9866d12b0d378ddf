"""The checks find what they are there to find, and this tree has none of it."""

from types import SimpleNamespace
from typing import Any

import pytest
from litestar import Litestar
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from app.check import floors, readme, routes, sizes
from app.check.finding import Finding
from app.cli import DELETABLE
from app.runtime.tools.agent_route import get, post


def found(path: str, source: str) -> list[str]:
    return [finding.key for finding in floors.floor_findings(path, source)]


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
    assert found(path, source) == ["floor"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("routes/tickets.py", "from app.agents.triager import Triager"),
        ("app/check/cli.py", "from app import migrations"),
    ],
)
def test_an_import_of_a_neighbour_is_found(path: str, source: str) -> None:
    assert found(path, source) == ["floor"]


def test_an_import_inside_a_function_is_found_even_when_it_goes_down() -> None:
    assert found("app/services/tickets.py", "def close():\n    import app.domain") == ["floor-function"]


def test_an_import_under_type_checking_counts() -> None:
    assert found("db/engine.py", "if TYPE_CHECKING:\n    from app.main import create_app") == ["floor"]


@pytest.mark.parametrize(
    "source", ["from app.domain import TicketId", "import db.schema", "from config import settings"]
)
def test_runtime_imports_nothing_of_ours_outside_itself(source: str) -> None:
    assert found("app/runtime/tools/gate.py", source) == ["floor-only"]


@pytest.mark.parametrize(
    "source", ["from app.services import tickets", "from app.runtime.durable.host import Host", "import sqlalchemy"]
)
def test_an_agent_reaches_the_app_through_its_tools_only(source: str) -> None:
    assert found("app/agents/triager.py", source) == ["floor-only"]


def test_an_agent_may_import_its_own_package_the_domain_the_base_class_and_the_results() -> None:
    source = "import re\nfrom app.agents import sweep_plan\nfrom app.domain import TicketId\n"
    source += "from app.runtime.durable.agent import Agent\nfrom app.runtime.tools.results import Done"
    assert found("app/agents/triager.py", source) == []


def test_nothing_depends_on_a_folder_that_can_be_deleted() -> None:
    assert found("app/cli/demo.py", "from app.measure import floors") == ["floor"]


def test_a_file_on_no_floor_is_found() -> None:
    assert found("app/helpers.py", "import re") == ["floor-unknown"]


def test_imports_that_go_down_are_fine() -> None:
    assert found("routes/tickets.py", "import litestar\nfrom app import domain, services\nfrom . import pages") == []


def test_sizes_count_pages_but_not_the_static_files() -> None:
    [behaviour, runtime] = sizes.sizes(
        {"routes/x.py": "a\nb\n", "templates/p.html": "a\n", "templates/static/h.js": "a\n", "app/runtime/x.py": "a"}
    )
    assert (behaviour.lines, runtime.lines) == (3, 1)


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    source = (
        '"""What it is\nfor."""\n\nx = 1  # why\n# a comment\n\n\ndef f() -> int:\n    """Says what."""\n    return x\n'
    )
    assert sizes.code_lines("app/x.py", source) == 3


def test_a_sum_that_reached_its_limit_is_found() -> None:
    [finding] = sizes.size_findings(
        sizes.sizes({"app/services/x.py": "x = 1\n" * 2_500, "app/runtime/x.py": "x = 1\n" * 2_499})
    )
    assert (finding.level, finding.key) == ("fail", "size")


README = "<!-- reading-order -->\n" + "\n".join(f"{n}. `app/{n}.py`: words" for n in range(10))
README += "\n<!-- deletable -->\n" + "\n".join(f"- `{package.replace('.', '/')}/`" for package in DELETABLE)


def test_a_readme_whose_lists_are_true_has_no_finding() -> None:
    assert list(readme.readme_findings(README, lambda _: True)) == []


@pytest.mark.parametrize(
    ("text", "gone", "said"),
    [
        ("", (), "no list after <!-- reading-order -->"),
        (README, ("app/3.py",), "app/3.py does not exist"),
        (README.replace("3. `app/3.py`", ""), (), "9 files"),
        (README.replace("- `app/check/`", ""), (), "app/check/ can be deleted"),
    ],
)
def test_a_readme_whose_lists_are_not_true_is_found(text: str, gone: tuple[str, ...], said: str) -> None:
    assert any(said in finding.message for finding in readme.readme_findings(text, lambda path: path not in gone))


def a_plain_guard(_connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None: ...


async def a_guard(_connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None: ...


def app_findings(*handlers: Any, guards: Any = ()) -> list[Finding]:
    app = Litestar(list(handlers), guards=list(guards), openapi_config=None, logging_config=None)
    return list(routes.app_findings(app, {}))


@pytest.mark.parametrize("layers", [([a_guard, a_plain_guard], []), ([a_guard], [a_plain_guard])])
def test_a_guard_that_is_a_plain_def_is_found_on_every_layer(layers: tuple[list[Any], list[Any]]) -> None:
    @get("/", guards=layers[0])
    async def handler() -> None: ...

    assert [finding.key for finding in app_findings(handler, guards=layers[1])] == ["guard"]


def test_a_gated_tool_that_cannot_be_repeated_is_named() -> None:
    @post("/close", name="close").agent(description="Close it.", approval="required")
    async def handler() -> None: ...

    [finding] = app_findings(handler)
    assert (finding.level, finding.key) == ("warn", "repeatable")


def test_a_preview_that_needs_a_redacted_argument_is_found() -> None:
    def preview(_session: object, secret: str) -> str:
        return secret

    mark = SimpleNamespace(approval="required", redact=("secret",), preview=preview)
    handler = SimpleNamespace(parsed_fn_signature=SimpleNamespace(parameters={"operation": None}))
    [finding] = routes.tool_findings(handler, mark)
    assert (finding.level, finding.key) == ("fail", "preview")


def test_a_scope_that_names_no_tool_is_found() -> None:
    [finding] = routes.scope_findings({"triager": {"scopes": ["tool:a_b", "tool:c_d"]}}, {"a_b"})
    assert (finding.level, finding.key) == ("warn", "scope")


def test_both_lists_of_deletable_folders_are_the_same() -> None:
    assert DELETABLE == floors.DELETABLE
