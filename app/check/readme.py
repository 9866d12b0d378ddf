"""README's two lists stay true: ten files in reading order, and what may be deleted.

A list starts at `<!-- reading-order -->` or `<!-- deletable -->` and ends at the next heading or comment. The first
`code` of each item is a path.
"""

import re
from collections.abc import Callable, Iterator

from app.check.finding import Finding, fail
from app.check.floors import DELETABLE

ITEM = re.compile(r"^(?:[-*]|\d+\.) [^`\n]*`([^`]+)`", re.MULTILINE)
READING_ORDER = 10  # files


def readme_findings(text: str, exists: Callable[[str], bool]) -> Iterator[Finding]:
    order, deletable = _list(text, "reading-order"), _list(text, "deletable")
    for name, paths in (("reading-order", order), ("deletable", deletable)):
        if paths is None:
            yield fail("readme", f"README.md has no list after <!-- {name} -->. Write it: one `path` an item.")
        yield from (
            fail("readme", f"README.md, {name}: {path} does not exist. Correct the list.")
            for path in paths or []
            if not exists(path)
        )
    if order and len(order) != READING_ORDER:
        yield fail("readme", f"README.md, reading-order: {len(order)} files; it names {READING_ORDER}.")
    for path in (package.replace(".", "/") for package in DELETABLE):
        if deletable and exists(path) and path not in {each.rstrip("/") for each in deletable}:
            yield fail("readme", f"README.md, deletable: {path}/ can be deleted, and is not listed. Add it.")


def _list(text: str, name: str) -> list[str] | None:
    """The paths of a list; None when there is no list."""
    _, found, rest = text.partition(f"<!-- {name} -->")
    paths = ITEM.findall(re.split(r"^#|<!--", rest, maxsplit=1, flags=re.MULTILINE)[0])
    return paths if found and paths else None
