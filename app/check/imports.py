"""Every import of a module, those inside functions and under TYPE_CHECKING included."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Import:
    target: str  # dotted, the imported name included: app.domain.TicketId
    line: int
    in_function: bool


def module_name(path: str) -> str:
    """`app/cli/__init__.py` is the module app.cli."""
    return ".".join(PurePosixPath(path.removesuffix("/__init__.py")).with_suffix("").parts)


@lru_cache(maxsize=1_000)
def imports(path: str, module: ast.Module) -> tuple[Import, ...]:
    package = module_name(path).split(".")
    if not path.endswith("/__init__.py"):
        package.pop()
    return tuple(_walk(module, package, in_function=False))


def _walk(node: ast.AST, package: list[str], *, in_function: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import():
                yield from (Import(name.name, child.lineno, in_function) for name in child.names)
            case ast.ImportFrom():
                origin = _origin(child, package)
                yield from (Import(f"{origin}.{name.name}", child.lineno, in_function) for name in child.names)
            case _:
                inside = in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from _walk(child, package, in_function=inside)


def _origin(node: ast.ImportFrom, package: list[str]) -> str:
    """The absolute module of `from x import y`, dots resolved."""
    base = package[: len(package) - node.level + 1] if node.level else []
    return ".".join([*base, *([node.module] if node.module else [])])
