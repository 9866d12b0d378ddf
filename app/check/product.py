"""The rules that import the product, one family after the other: a product that cannot be imported is one finding."""

import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from app.check.finding import Finding, error
from app.check.tree import FOLDERS, Tree
from app.runtime.errors import WiringError

FAMILIES = (
    *("app.check.registry", "app.check.policy", "app.check.routes", "app.check.reach"),
    "app.check.cloudflare",
)
Agents = dict[str, dict[str, list[str]]]  # scopes and tools, by agent


def product_findings(tree: Tree) -> tuple[list[Finding], Agents | None]:
    """What is found, and what each agent may call; None where nobody could look.

    What keeps the app from starting is told once, and only where no rule tells it better.
    """
    found: list[Finding] = []
    try:
        for family in FAMILIES:
            found += _import(family).findings(tree)
        return found, _import("app.check.reach").agents(tree)
    except Exception as fault:  # noqa: BLE001  # whatever it is, it is a finding
        if not any(each.level == "error" for each in found):
            found.append(_does_not_start(tree, fault))
        return found, None


def _import(family: str) -> Any:
    return import_module(family)


def _does_not_start(tree: Tree, fault: Exception) -> Finding:
    """A WiringError says where; anything else happened at the last of our lines in its traceback."""
    said, where = str(fault), ""
    if not isinstance(fault, WiringError):
        ours = [frame for frame in traceback.extract_tb(fault.__traceback__) if _is_ours(tree, frame.filename)]
        where = f"{Path(ours[-1].filename).relative_to(tree.root)}:{ours[-1].lineno}" if ours else ""
        said = f"{type(fault).__name__}: {said}."
    return error("app", where, f"The app does not start: {said} Mend it; its routes were not looked at.")


def _is_ours(tree: Tree, filename: str) -> bool:
    path = Path(filename)
    return path.is_relative_to(tree.root) and path.relative_to(tree.root).parts[0] in FOLDERS
