"""Size is a feature: two sums of lines that stay small enough to read."""

from collections.abc import Mapping

from msgspec import Struct

from app.check.finding import Finding, fail

LIMIT = 2_500  # lines
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
    lines = {path: len(text.splitlines()) for path, text in sources.items() if not path.startswith("templates/static/")}
    return [
        Size(what, sum(count for path, count in lines.items() if path.startswith(parts)), LIMIT)
        for what, parts in SUMS.items()
    ]


def size_findings(found: list[Size]) -> list[Finding]:
    return [
        fail("size", f"{size.what}: {size.lines} lines; it stays under {size.limit}. Find what can go, or move down.")
        for size in found
        if size.lines >= size.limit
    ]
