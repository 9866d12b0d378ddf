"""README's two lists stay true: ten files in reading order, and what may be deleted.

A list starts at `<!-- reading-order -->` or `<!-- deletable -->` and ends at the next heading or comment. The first
`code` of each item is a path.
"""

import re
from collections.abc import Iterator

from app.check.finding import Finding, error
from app.check.floors import DELETABLE
from app.check.tree import Tree

ITEM = re.compile(r"^(?:[-*]|\d+\.) [^`\n]*`([^`]+)`", re.MULTILINE)
READING_ORDER = 10  # files
README = "README.md"


def readme_findings(tree: Tree) -> Iterator[Finding]:
    text = tree.files.get(README, "")
    order, deletable = _list(text, "reading-order"), _list(text, "deletable")
    for name, paths in (("reading-order", order), ("deletable", deletable)):
        if paths is None:
            yield error("readme-list", README, f"There is no list after <!-- {name} -->. Write it: one `path` an item.")
        for path in paths or []:
            if not tree.exists(path):
                yield error("readme-path", README, f"{name}: {path} does not exist. Correct the list.")
    if order and len(order) != READING_ORDER:
        yield error("readme-order", README, f"reading-order: {len(order)} files; it names {READING_ORDER}.")
    for path in (package.replace(".", "/") for package in DELETABLE):
        if deletable and tree.exists(path) and path not in {each.rstrip("/") for each in deletable}:
            yield error("readme-deletable", README, f"{path}/ can be deleted, and is not listed. Add it.")


def _list(text: str, name: str) -> list[str] | None:
    """The paths of a list; None when there is no list."""
    _, found, rest = text.partition(f"<!-- {name} -->")
    paths = ITEM.findall(re.split(r"^#|<!--", rest, maxsplit=1, flags=re.MULTILINE)[0])
    return paths if found and paths else None
