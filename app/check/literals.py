"""A file of literal data, read unrun: what it says, and on which line it says each part of it."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from app.check.finding import Finding, error
from app.check.tree import Tree

Keys = tuple[Any, ...]  # the way into nested data: ("triager", "scopes", 0)


@dataclass(frozen=True, slots=True)
class Data:
    path: str
    value: Any
    lines: dict[Keys, int]

    def where(self, *keys: Any) -> str:
        """The line of this part; of what holds it, where it is not there."""
        while keys not in self.lines:
            keys = keys[:-1]
        return f"{self.path}:{self.lines[keys]}"


def literal_findings(tree: Tree, path: str, name: str) -> Iterator[Finding]:
    """The file holds `name = {…}` and a docstring, nothing but literals in it, each key once."""
    module = tree.module(path)
    if module is None:
        return
    assigned = _assigned(module, name)
    for statement in module.body:
        if statement not in assigned and not _changes_nothing(statement):
            yield error(
                "config-literal",
                f"{path}:{statement.lineno}",
                f"Only {name} = {{…}} may stand here: nobody would see what this does to it. Move it elsewhere.",
            )
    if len(assigned) != 1:
        yield error("config-literal", path, f"It says {name} = {{…}} {len(assigned)} times. Say it once.")
    for value in assigned.values():
        yield from _faults(path, value) if isinstance(value, ast.Dict) else [_not_literal(path, value, "is no {…}")]


def literal(tree: Tree, path: str, name: str) -> Data | None:
    """What the file says; None when it is not there, or not literal."""
    module = tree.module(path)
    for node in _assigned(module, name).values() if module else ():
        with suppress(ValueError, TypeError):
            value = ast.literal_eval(node)
            return Data(path, value, dict(_lines(node, ()))) if isinstance(value, dict) else None
    return None


def _assigned(module: ast.Module, name: str) -> dict[ast.stmt, ast.expr]:
    """What is assigned to the name, by statement."""
    found: dict[ast.stmt, ast.expr] = {}
    for node in module.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)]) if target == name:
                found[node] = node.value
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
                found[node] = value
    return found


def _changes_nothing(statement: ast.stmt) -> bool:
    """A docstring, or an import for the annotation."""
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, ast.Import | ast.ImportFrom)


def _faults(path: str, node: ast.expr) -> Iterator[Finding]:
    match node:
        case ast.Dict():
            yield from _doubled(path, node)
            for key, value in zip(node.keys, node.values, strict=True):
                yield from _faults(path, key) if key else [_not_literal(path, value, "is spread into it")]
                yield from _faults(path, value) if key else ()
        case ast.List() | ast.Tuple():
            for item in node.elts:
                yield from _faults(path, item)
        case ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            pass
        case _:
            yield _not_literal(path, node, "is worked out")


def _not_literal(path: str, node: ast.expr, how: str) -> Finding:
    said = f"`{ast.unparse(node)}` {how}. Write out what it stands for: a check reads this file unrun."
    return error("config-literal", f"{path}:{node.lineno}", said)


def _doubled(path: str, node: ast.Dict) -> Iterator[Finding]:
    seen: set[str] = set()
    for key in filter(None, node.keys):
        text = ast.unparse(key)
        if text in seen:
            yield error(
                "config-twice", f"{path}:{key.lineno}", f"{text} is there twice, and the last one wins. Drop one."
            )
        seen.add(text)


def _lines(node: ast.expr, keys: Keys) -> Iterator[tuple[Keys, int]]:
    yield keys, node.lineno
    match node:
        case ast.Dict():
            for key, value in zip(node.keys, node.values, strict=True):
                yield from _lines(value, (*keys, ast.literal_eval(key))) if key else ()
        case ast.List() | ast.Tuple():
            for number, item in enumerate(node.elts):
                yield from _lines(item, (*keys, number))
