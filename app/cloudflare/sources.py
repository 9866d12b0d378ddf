"""The modules of this tree as text: what each imports, when, and under which name."""

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

OURS = ("app", "config", "db", "routes", "templates")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Import(NamedTuple):
    target: str  # dotted, the imported name included: app.domain.TicketId
    line: int
    at_import: bool  # not inside a function
    name: str  # the name it gets here
    stands_for: str  # what that name is: of `import os.path`, os


class Sources:
    """`files` maps paths, relative to the root and with slashes, to texts. A module is parsed when it is asked for."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._paths = {_module(path): path for path in files if path.endswith(".py") and path.split("/")[0] in OURS}
        self._texts = files
        self._names: dict[str, dict[str, str]] = {}

    def holds(self, module: str) -> bool:
        return module in self._paths

    def path(self, module: str) -> str:
        return self._paths[module]

    def tree(self, module: str) -> ast.Module:
        """Raises SyntaxError."""
        return _parsed(self._paths[module], self._texts[self._paths[module]])

    def imports(self, module: str) -> tuple[Import, ...]:
        return _imported(self._paths[module], self._texts[self._paths[module]])

    def names(self, module: str) -> dict[str, str]:
        """What a name of the module stands for, where an import says so."""
        if module not in self._names:
            self._names[module] = {each.name: each.stands_for for each in self.imports(module)}
        return self._names[module]

    def reachable(self, roots: list[str], left_out: tuple[str, ...]) -> list[str]:
        """What `roots` import, at once or later, and the packages that hold it; sorted."""
        seen: set[str] = set()
        waiting = [*roots]
        while waiting:
            module = waiting.pop()
            if module in seen or not self.holds(module) or within(module, left_out):
                continue
            seen.add(module)
            waiting += [module.rsplit(".", depth)[0] for depth in range(1, module.count(".") + 1)]
            for each in self.imports(module):
                waiting += [each.target, each.target.rpartition(".")[0]]
        return sorted(seen)


def within(dotted: str, packages: tuple[str, ...]) -> bool:
    return any(dotted == each or dotted.startswith(f"{each}.") for each in packages)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@lru_cache(maxsize=1_000)
def _parsed(path: str, text: str) -> ast.Module:
    return ast.parse(text, path)


@lru_cache(maxsize=1_000)
def _imported(path: str, text: str) -> tuple[Import, ...]:
    package = _module(path).split(".")
    if not path.endswith("/__init__.py"):
        package.pop()
    return tuple(_imports(_parsed(path, text), package, at_import=True))


def _imports(node: ast.AST, package: list[str], *, at_import: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import():
                for each in child.names:
                    top = each.name.partition(".")[0]
                    name, stands_for = (each.asname, each.name) if each.asname else (top, top)
                    yield Import(each.name, child.lineno, at_import, name, stands_for)
            case ast.ImportFrom():
                base = package[: len(package) - child.level + 1] if child.level else []
                origin = ".".join([*base, *([child.module] if child.module else [])])
                for each in child.names:
                    target = f"{origin}.{each.name}"
                    yield Import(target, child.lineno, at_import, each.asname or each.name, target)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pass
            case _:
                yield from _imports(child, package, at_import=at_import and not isinstance(child, FUNCTIONS))
