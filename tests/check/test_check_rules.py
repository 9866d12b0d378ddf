"""The checks are checked: each rule that the code can name is planted in a test."""

import ast
from pathlib import Path

import pytest

from app.check.finding import error, warning
from config.settings import ROOT

FOLDERS = {  # where the rules are, what names one, and where each is planted
    "app/check": ({error.__name__, warning.__name__}, "tests/check"),
    "app/cloudflare": ({"Fault"}, "tests/cloudflare"),  # a folder that may be gone
}


def constants(folder: str) -> list[ast.Constant]:
    modules = [ast.parse(path.read_text()) for path in (ROOT / folder).glob("*.py") if path != Path(__file__)]
    return [node for module in modules for node in ast.walk(module) if isinstance(node, ast.Constant)]


def rules(folder: str, names: set[str]) -> set[str]:
    calls = [
        node
        for path in (ROOT / folder).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in names
    ]
    passed_on = "fault.rule"  # what the build for Cloudflare found
    return {ast.literal_eval(call.args[0]) for call in calls if ast.unparse(call.args[0]) != passed_on}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_rule_is_planted_in_a_test(folder: str) -> None:
    names, tests = FOLDERS[folder]
    assert rules(folder, names) - {node.value for node in constants(tests)} == set()
