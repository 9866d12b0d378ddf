"""The checks are checked: each rule that the code can name is planted in a test."""

import ast
from pathlib import Path

from app.check.finding import error, warning
from config.settings import ROOT

FUNCTIONS = {error.__name__, warning.__name__}


def constants(folder: str) -> list[ast.Constant]:
    modules = [ast.parse(path.read_text()) for path in (ROOT / folder).glob("*.py") if path != Path(__file__)]
    return [node for module in modules for node in ast.walk(module) if isinstance(node, ast.Constant)]


def rules() -> set[str]:
    calls = [
        node
        for path in (ROOT / "app/check").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in FUNCTIONS
    ]
    return {ast.literal_eval(call.args[0]) for call in calls}


def test_every_rule_is_planted_in_a_test() -> None:
    assert rules() - {node.value for node in constants("tests/check")} == set()
