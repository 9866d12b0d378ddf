"""The tree as it is, with one fault planted, and what the check says of that fault."""

from collections.abc import Iterable
from functools import cache

from app.check import policy, registry
from app.check.cli import source_findings
from app.check.finding import Finding
from app.check.tree import Tree, read
from config.settings import ROOT


@cache
def the_tree() -> Tree:
    return read(ROOT)


def with_text(path: str, text: str) -> Tree:
    return Tree(ROOT, {**the_tree().files, path: text})


def edited(path: str, old: str, new: str) -> Tree:
    text = the_tree().files[path]
    assert old in text
    return with_text(path, text.replace(old, new, 1))


def static(tree: Tree) -> list[Finding]:
    """Every rule that needs only text."""
    return [*source_findings(tree), *registry.findings(tree), *policy.findings(tree)]


@cache
def already() -> tuple[Finding, ...]:
    """What is wrong with the tree as it is: nothing, which a test of its own holds."""
    return tuple(static(the_tree()))


def new_in(tree: Tree) -> list[Finding]:
    too_big = any(each.rule == "size" for each in already())  # then every edit changes its message
    return [each for each in static(tree) if each not in already() and not (too_big and each.rule == "size")]


def told(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(finding.rule, finding.where) for finding in findings]
