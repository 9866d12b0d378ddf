"""The project as text. Most rules need no more, so they hold also of a tree that does not start."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from app.check.finding import Finding, error

FOLDERS = ("app", "config", "db", "routes", "templates")
README = "README.md"
BESIDE = (README, "wrangler.jsonc")
SUFFIXES = {".py", ".html", ".xml", ".txt", ".jinja"}


@dataclass(frozen=True, slots=True)
class Tree:
    """`files` maps each path, relative to `root` and with slashes, to its text."""

    root: Path
    files: Mapping[str, str]

    def exists(self, path: str) -> bool:
        return path in self.files or (self.root / path).exists()

    def module(self, path: str) -> ast.Module | None:
        """None when there is no such file, or it is no Python."""
        found = parsed(path, self.files[path]) if path in self.files else None
        return found if isinstance(found, ast.Module) else None

    def modules(self) -> Iterator[tuple[str, ast.Module]]:
        for path in self.files:
            if path.endswith(".py") and (module := self.module(path)):
                yield path, module


def read(root: Path) -> Tree:
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in SUFFIXES]
    paths += [root / name for name in BESIDE]
    texts = {path.relative_to(root).as_posix(): _text(path) for path in paths if path.is_file()}
    return Tree(root, texts)


def syntax_findings(tree: Tree) -> Iterator[Finding]:
    for path, text in tree.files.items():
        fault = parsed(path, text) if path.endswith(".py") else None
        if isinstance(fault, Exception):
            line = f":{fault.lineno}" if isinstance(fault, SyntaxError) and fault.lineno else ""
            said = fault.msg if isinstance(fault, SyntaxError) else str(fault)
            yield error("syntax", path + line, f"This is no Python: {said}. Mend it; the app does not start before.")


@lru_cache(maxsize=1_000)
def parsed(path: str, text: str) -> ast.Module | Exception:
    try:
        return ast.parse(text, path)
    except (SyntaxError, ValueError) as fault:
        return fault


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="surrogateescape")
