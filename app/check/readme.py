"""README's lists, links and names stay true: ten files in reading order, what may be deleted, commands, settings.

A list starts at `<!-- reading-order -->` or `<!-- deletable -->` and ends at the next heading or comment. The first
`code` of each item is a path.
"""

import re
from collections.abc import Iterator

from app.check.finding import Finding, error
from app.check.floors import DELETABLE
from app.check.literals import literal
from app.check.tree import README, Tree
from app.runtime.spelling import did_you_mean

ITEM = re.compile(r"^(?:[-*]|\d+\.) [^`\n]*`([^`]+)`", re.MULTILINE)
READING_ORDER = 10  # files
LINK = re.compile(r"\]\(((?!https?:|#)[^)\s]+)\)")
COMMANDS = re.compile(r"`triager (\w+\s*\|[^`]*)`")  # `triager dev | serve | …`
COMMAND = re.compile(r"(?:`|uv run )triager (\w+)")
SETTING = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`")
SETTINGS = "config/settings.py"


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
    yield from _link_findings(tree, text)
    yield from _command_findings(tree, text)
    yield from _name_findings(tree, text)


def _link_findings(tree: Tree, text: str) -> Iterator[Finding]:
    for number, path in _found(LINK, text):
        if not tree.exists(path):
            yield error("readme-link", f"{README}:{number}", f"It links to {path}, which does not exist. Correct it.")


def _command_findings(tree: Tree, text: str) -> Iterator[Finding]:
    """The list names every command; and no other is used anywhere."""
    packages = [path for path in tree.files if path.startswith("app/") and path.endswith("/__init__.py")]
    tables = filter(None, (literal(tree, path, "COMMANDS") for path in packages))
    known = {name for table in tables for name in table.value}
    for number, listed in _found(COMMANDS, text):
        names = set(re.split(r"\s*\|\s*", listed.strip()))
        for name in sorted(known ^ names):
            said = f"There is no command `{name}`. Take it out." if name in names else f"`{name}` is missing. Add it."
            yield error("readme-commands", f"{README}:{number}", f"The list of commands: {said}")
    for number, name in _found(COMMAND, text):
        if name not in known:
            said = f"There is no command `triager {name}`.{did_you_mean(name, known)} Correct it."
            yield error("readme-command", f"{README}:{number}", said)


def _name_findings(tree: Tree, text: str) -> Iterator[Finding]:
    """Settings, and keys of the policy in capitals. What begins with TRIAGER_ is for the tests."""
    policy = literal(tree, "config/triage.py", "POLICY")
    known = {*re.findall(r"\b[A-Z][A-Z_]+\b", tree.files.get(SETTINGS, ""))}
    known |= {key.upper() for key in (policy.value if policy else ())}
    for number, name in _found(SETTING, text):
        if name not in known and not name.startswith("TRIAGER_"):
            said = f"There is no setting {name} in {SETTINGS}.{did_you_mean(name, known)} Correct it."
            yield error("readme-setting", f"{README}:{number}", said)


def _found(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    """Each match, with the line it begins in."""
    return ((text.count("\n", 0, match.start()) + 1, match[1]) for match in pattern.finditer(text))


def _list(text: str, name: str) -> list[str] | None:
    """The paths of a list; None when there is no list."""
    _, found, rest = text.partition(f"<!-- {name} -->")
    paths = ITEM.findall(re.split(r"^#|<!--", rest, maxsplit=1, flags=re.MULTILINE)[0])
    return paths if found and paths else None
