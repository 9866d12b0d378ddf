"""Size is a feature: sums of code that stay small enough to read.

A line counts when it holds code. Blank lines, comments and docstrings are there for the reader, and cost nothing.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from app.check.finding import Finding, error
from app.check.tree import Tree, parsed

SUMS = {  # what: the most lines of code, and where they are; a file counts once, where it is met first
    "runtime": (2_650, ("app/runtime/",)),
    "the console": (1_700, ("routes/console/", "templates/")),
    "what one reads to change behaviour": (
        3_700,
        ("routes/", "app/services/", "app/agents/", "config/", "app/domain", "app/auth", "app/schemas"),
    ),
}


class Size(Struct, frozen=True):
    what: str
    lines: int
    limit: int


def size_findings(tree: Tree) -> Iterator[Finding]:
    for size in sizes(tree):
        if size.lines >= size.limit:
            said = f"{size.what}: {size.lines} lines of code; it stays under {size.limit}."
            yield error("size", "", f"{said} Find what can go, or move down.")


def sizes(tree: Tree) -> list[Size]:
    """Every sum; templates/static/ does not count."""
    left = {path: text for path, text in tree.files.items() if not path.startswith("templates/static/")}
    return [Size(what, _taken(left, parts), limit) for what, (limit, parts) in SUMS.items()]


def _taken(left: dict[str, str], parts: tuple[str, ...]) -> int:
    """The lines of these parts, which are taken out of what is left."""
    return sum(code_lines(path, left.pop(path)) for path in [path for path in left if path.startswith(parts)])


@lru_cache(maxsize=1_000)
def code_lines(path: str, text: str) -> int:
    """Lines that are not blank; in Python, none of a comment or docstring either."""
    prose = set(_docstring_lines(path, text)) if path.endswith(".py") else set()
    comment = "#" if path.endswith(".py") else "{#"
    return sum(
        bool(line.strip()) and not line.strip().startswith(comment) and number not in prose
        for number, line in enumerate(text.splitlines(), 1)
    )


def _docstring_lines(path: str, text: str) -> Iterator[int]:
    module = parsed(path, text)
    for node in ast.walk(module) if isinstance(module, ast.Module) else ():
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() if ast.get_docstring(node):
                first = node.body[0]
                yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)
