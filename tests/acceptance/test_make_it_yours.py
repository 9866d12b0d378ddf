"""README's chapter "Make it yours" is carried out on a copy of the sources, and the copy does what the chapter says.

After `<!-- yours -->`, a `python` block holds what is added to the end of files, each under a line `# its/path.py`, and
a `diff` block holds edits, each file under `+++ its/path.py`. What is said to be run is `uv run triager …`.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.check.tree import read
from config.settings import ROOT
from tests.acceptance.copied import Copy
from tests.world import KEY

BLOCK = re.compile(r"^<!-- yours -->\n```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDED = re.compile(r"^# (\S+/\S+\.py)\n", re.MULTILINE)
EDITED = re.compile(r"^\+\+\+ (\S+)\n", re.MULTILINE)
COMMAND = re.compile(r"`uv run triager ([^`]+)`")
ITEM = re.compile(r"^\d\. (.*?):", re.MULTILINE)
STORY = "tests/acceptance/yours_story.py"


def chapter() -> str:
    found = re.search(
        r"^## Make it yours\n(.*?)(?=^## |\Z)", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert found, 'README.md has no chapter "Make it yours".'
    return found[1]


def blocks(language: str) -> list[str]:
    return [block for name, block in BLOCK.findall(chapter()) if name == language]


def by_path(block: str, heading: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    before, *parts = heading.split(block)
    assert not before.strip(), f"{before} belongs to no file."
    return zip(parts[::2], parts[1::2], strict=True)


def add(root: Path, block: str) -> list[str]:
    sections = list(by_path(block, ADDED))
    for path, text in sections:
        with (root / path).open("a") as file:
            file.write(f"\n\n{text.strip()}\n")
    return [path for path, _ in sections]


def edit(root: Path, block: str) -> list[str]:
    sections = list(by_path(block, EDITED))
    for path, hunks in sections:
        text = (root / path).read_text()
        for hunk in re.split(r"^@@.*\n", hunks, flags=re.MULTILINE):
            lines = hunk.splitlines(keepends=True)
            old, new = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
            assert text.count(old) == 1, f"{path} has this {text.count(old)} times, not once:\n{old}"
            text = text.replace(old, new)
        (root / path).write_text(text)
    return [path for path, _ in sections]


class Yours(Copy):
    """The copy, once everything is done that the chapter says."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        before = self.files()
        for command in COMMAND.findall(chapter()):
            self.passes("app.cli", *command.split())
        touched = [path for block in blocks("python") for path in add(self.root, block)]
        touched += [path for block in blocks("diff") for path in edit(self.root, block)]
        self.touched = {*touched, *(self.files().keys() - before.keys())}


@pytest.fixture(scope="module")
def yours(tmp_path_factory: pytest.TempPathFactory) -> Yours:
    return Yours(tmp_path_factory.mktemp("yours"))


def test_the_result_passes_all_that_our_own_code_passes(yours: Yours) -> None:
    yours.is_clean(*(path for path in yours.touched if path.endswith(".py")))
    assert yours.found_by_check() == []
    yours.passes("pytest", "-q", *(path for path in yours.touched if path.startswith("tests/")))


def test_the_tool_is_listed_and_the_agent_known_on_a_fresh_installation(yours: Yours, tmp_path: Path) -> None:
    environ = {"DATA_DIR": str(tmp_path), "APP_KEY": KEY}
    yours.passes("app.cli", "db", "upgrade", **environ)
    tools = json.loads(yours.passes("app.cli", "tool", "list", "--json", **environ))
    assert "tickets_assign" in json.dumps(tools)
    assert "waiting: []" in yours.passes("app.cli", "agent", "show", "desk/main", **environ)


def test_the_tool_asks_first_and_happens_once_whatever_breaks(yours: Yours) -> None:
    yours.passes("pytest", "-q", STORY)


def test_the_second_tool_takes_some_sixty_lines() -> None:
    added = "".join(blocks("python") + blocks("diff"))
    assert 30 < len([line for line in added.splitlines() if re.match(r"[^\s#@-]|    |\+[^+]", line)]) <= 65


def test_no_other_file_than_those_named_knows_what_a_ticket_is() -> None:
    """A word in a comment or a docstring is an example; and what a folder can do without, it can be deleted with."""
    items = ITEM.findall(chapter().partition("<!-- noun -->")[2])
    named = tuple(path for item in items for path in re.findall("`([^`]+)`", item))
    knowing = {path for path, text in read(ROOT).files.items() if knows(path, text) and path != "README.md"}
    assert {path for path in knowing if not path.startswith(named)} == set()
    assert [path for path in named if not any(each.startswith(path) for each in knowing)] == []


def knows(path: str, text: str) -> bool:
    if path.endswith(".py"):
        tree = ast.parse(text)
        for node in ast.walk(tree):
            match node:
                case ast.Expr(value=ast.Constant(value=str() as said) as docstring) if said:
                    docstring.value = ""
        text = ast.unparse(tree)
    return "ticket" in text.lower()
