"""Size is a feature: two sums of code that stay small enough to read.

A line counts when it holds code. Blank lines, comments and docstrings are there for the reader, and cost nothing.
"""

import ast
from collections.abc import Iterator, Mapping

from msgspec import Struct

from app.check.finding import Finding, fail

LIMIT = 2_500  # lines of code
SUMS = {
    "what one reads to change behaviour": (
        "routes/",
        "app/services/",
        "app/agents/",
        "config/",
        "templates/",
        "app/domain",
        "app/auth",
        "app/schemas",
    ),
    "runtime": ("app/runtime/",),
}


class Size(Struct, frozen=True):
    what: str
    lines: int
    limit: int


def sizes(sources: Mapping[str, str]) -> list[Size]:
    """Both sums. `sources` maps a path to its text; templates/static/ does not count."""
    lines = {path: code_lines(path, text) for path, text in sources.items() if not path.startswith("templates/static/")}
    return [
        Size(what, sum(count for path, count in lines.items() if path.startswith(parts)), LIMIT)
        for what, parts in SUMS.items()
    ]


def code_lines(path: str, text: str) -> int:
    """Lines that are not blank; in Python, none of a comment or docstring either."""
    prose = set(_docstring_lines(text)) if path.endswith(".py") else set()
    comment = "#" if path.endswith(".py") else "{#"
    return sum(
        bool(line.strip()) and not line.strip().startswith(comment) and number not in prose
        for number, line in enumerate(text.splitlines(), 1)
    )


def _docstring_lines(text: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() if ast.get_docstring(node):
                first = node.body[0]
                yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def size_findings(found: list[Size]) -> list[Finding]:
    return [
        fail("size", f"{size.what}: {size.lines} lines; it stays under {size.limit}. Find what can go, or move down.")
        for size in found
        if size.lines >= size.limit
    ]
