"""What the sources say of a class: is it an agent, which methods has it, which names does it list?"""

import ast
from collections.abc import Iterator

from app.check.imports import imports
from app.check.tree import Tree

AGENT = "app.runtime.durable.agent.Agent"
Found = tuple[str, ast.ClassDef]  # the path of its module, and the class


def find_class(tree: Tree, path: str, name: str) -> Found | None:
    """A class that the module itself declares."""
    module = tree.module(path)
    body = module.body if module else []
    return next(((path, node) for node in body if isinstance(node, ast.ClassDef) and node.name == name), None)


def lineage(tree: Tree, found: Found) -> list[Found]:
    """The class, and every base of it that stands in the tree."""
    classes = [found]
    for each in classes:  # grows meanwhile
        for base in _bases(tree, each):
            module, _, name = base.rpartition(".")
            above = find_class(tree, f"{module.replace('.', '/')}.py" if module else each[0], name)
            if above and above not in classes:
                classes.append(above)
    return classes


def is_agent(tree: Tree, found: Found) -> bool:
    return any(AGENT in _bases(tree, each) for each in lineage(tree, found))


def methods(tree: Tree, found: Found) -> set[str]:
    bodies = (node.body for _, node in lineage(tree, found))
    return {node.name for body in bodies for node in body if isinstance(node, ast.AsyncFunctionDef)}


def listed(found: Found, attribute: str) -> Iterator[tuple[str, int]]:
    """The texts of `attribute = ("one", "other")` in the body, each with its line."""
    for node in found[1].body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [attribute]:
            for item in ast.walk(node.value):
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    yield item.value, item.lineno


def _bases(tree: Tree, found: Found) -> list[str]:
    """Dotted where they are imported, else as they stand; without type arguments."""
    path, node = found
    module = tree.module(path)
    origins = {each.target.rpartition(".")[2]: each.target for each in imports(path, module)} if module else {}
    names = [ast.unparse(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases]
    return [origins.get(name, name) for name in names]
