"""`triager measure`: every route and the story's invocations against their budgets, and README's tables of them."""

import asyncio
import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import msgspec
import pytest
from click.testing import CliRunner, Result

from app.domain import NotFound
from app.measure import cli, compare, growth, routes, story
from app.measure.growth import Grown
from app.measure.machine import PACKAGES
from app.measure.plot import svg
from app.measure.probe import Cost
from app.measure.table import COLUMNS
from config.settings import ROOT

NAMES = ["GET /tickets", "inbox", f"sweep, {story.ASKS} asks", "wake, 1 approved"]
README = (ROOT / "README.md").read_text()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.measure, arguments, catch_exceptions=False)


def rows(mark: str) -> Iterator[list[str]]:
    """The cells of a table of README, its head first."""
    table = README.partition(f"<!-- {mark} -->")[2].partition(f"<!-- /{mark} -->")[0]
    for line in table.strip().splitlines():
        if not re.fullmatch(r"[|:\- ]+", line):
            yield [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture(scope="module")
def checked() -> list[Cost]:
    """By the command, every invocation once: none exceeds its budget."""
    done = run("--check", "--json")
    assert done.exit_code == 0, done.stderr
    document = msgspec.json.decode(done.stdout)
    assert document["over"] == []
    return msgspec.convert(document["costs"], list[Cost])


def test_every_route_and_every_invocation_of_the_story_has_its_figures(checked: list[Cost]) -> None:
    names = [cost.name for cost in checked]
    assert names[-len(story.BUDGETS) :] == list(story.BUDGETS)
    assert {"tickets.index", "console.index", "console.ticket", "session.create", "static.file"} <= set(names)
    for cost in checked:
        assert len(cost.sql) == cost.statements
        assert cost.cpu_ms > 0
        assert cost.wall_ms > 0
        assert cost.peak_kb > 0


def test_readme_shows_what_the_command_prints(checked: list[Cost]) -> None:
    by_name = {cost.name: cost for cost in checked}
    head, *shown = rows("costs")
    assert head == [COLUMNS[0], "statements", "budget", "CPU ms", "server CPU ms"]
    assert set(head) <= set(COLUMNS)
    assert shown
    for name, statements, budget, cpu, server in shown:
        cost = by_name[name]
        assert (int(statements), int(budget)) == (cost.statements, cost.budget)
        assert float(cpu) > 0
        assert (float(server) > 0) if server else name in story.BUDGETS


def test_readme_says_when_and_on_what_the_figures_were_taken() -> None:
    said = README.partition("<!-- machine -->\n")[2].partition("\n\n")[0]
    assert re.match(r"Taken on \d{4}-\d\d-\d\d: ", said)
    assert all(name in said for name in ("cores", "Python", *PACKAGES))


def test_a_budget_that_is_exceeded_and_one_that_is_missing_fail_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = routes.routes

    def otherwise(system: routes.System) -> Iterator[routes.Measured]:
        for one in declared(system):
            budgets = {"tickets.index": 1, "tickets.show": None}
            yield msgspec.structs.replace(one, budget=budgets.get(one.name, one.budget))

    monkeypatch.setattr(routes, "routes", otherwise)
    done = run("--check", "--only", "tickets.index", "--only", "tickets.show", "--only", "health")
    assert done.exit_code == 1
    assert "tickets.index ran 2 statements, and its budget is 1." in done.stderr
    assert "tickets.show declares no budget: write budget=3 on its route." in done.stderr
    assert "health" not in done.stderr.splitlines()[-2:]


def test_explain_shows_each_statement_and_how_its_rows_are_found() -> None:
    done = run("--check", "--only", "tickets.show", "--explain")
    assert "SEARCH api_tokens USING INDEX" in done.stdout
    assert "SEARCH tickets USING INTEGER PRIMARY KEY" in done.stdout


def test_a_route_that_does_not_answer_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.measure.samples.SAMPLES", {})
    with pytest.raises(routes.Unmeasured, match=r"answered 4\d\d, so nothing was measured"):
        run("--check", "--only", "tickets.create")


def test_a_thousand_tickets_and_ten_times_as_many_cost_the_same_statements() -> None:
    found = asyncio.run(growth.measure(lambda _: None, sizes=(1_000, 10_000), repeat=1))
    by_size = [[(one.name, one.statements) for one in found if one.tickets == size] for size in (1_000, 10_000)]
    assert by_size[0] == by_size[1]
    assert [name for name, _ in by_size[0]] == [
        "GET /tickets",
        "inbox",
        f"sweep, {story.ASKS} asks",
        "wake, 1 approved",
    ]


def test_the_plot_has_a_line_and_a_name_for_each() -> None:
    grown = [Grown(size, name, 2, cost) for name, cost in (("a", 1.0), ("b", 30.0)) for size in (1_000, 1_000_000)]
    drawn = ET.fromstring(svg(grown))  # noqa: S314 (our own)
    lines = [one for one in drawn.iter() if one.tag.endswith("polyline")]
    assert len(lines) == 2
    words = [one.text for one in drawn.iter() if one.tag.endswith("text")]
    assert {"a", "b", "1,000", "1,000,000", "50"} <= set(words)
    heights = [[float(point.split(",")[1]) for point in one.get("points", "").split()] for one in lines]
    assert max(heights[0]) < min(heights[1]), "the dearer one is drawn higher, and first"


def test_readme_s_plot_is_of_the_command() -> None:
    shown = ET.parse(ROOT / ".github/growth.svg").getroot()  # noqa: S314 (our own)
    words = {one.text for one in shown.iter() if one.tag.endswith("text")}
    assert {*NAMES, "1,000,000"} <= words


def test_the_peers_answer_as_ours_does_and_readme_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"REQUESTS": 8, "ROUNDS": 2, "CALLS": 4}.items():
        monkeypatch.setattr(compare, name, value)
    monkeypatch.setattr(compare.tools, "ROUNDS", 2)
    done = run("peers", "--json")
    assert done.exit_code == 0, done.stderr
    document = msgspec.json.decode(done.stdout)
    assert [one["name"] for one in document["lists"]] == [compare.OURS, *compare.PEERS]
    assert document["lists"][0]["ratio"] == 1.0
    named = [row[0] for row in rows("peers")][1:]
    assert named == [one["name"] for one in (*document["lists"], *document["calls"])]


def test_a_name_that_nothing_has_is_told() -> None:
    with pytest.raises(NotFound, match=r"Nothing begins with nosuch\."):
        run("--check", "--only", "nosuch")
