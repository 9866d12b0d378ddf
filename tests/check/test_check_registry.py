"""config/agents.py, with one fault planted: exactly that fault is found, on its line."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.check import registry
from app.check.registry import PATH
from app.check.tree import Tree
from app.runtime.errors import WiringError
from app.runtime.registration import KEYS, read
from tests.check.planted import edited, new_in, the_tree, told, with_text

ENTRY = """\
    "triager": {
        "module": "app.agents.triager",
        "class": "Triager",
        "scopes": ["tool:tickets_index", "tool:tickets_close"],
        "calls_per_minute": 30,
    },
"""


def agents(entries: str) -> str:
    return f"AGENTS = {{\n{entries}}}\n"


def changed(old: str, new: str) -> str:
    assert old in ENTRY
    return agents(ENTRY.replace(old, new))


def test_the_registry_as_it_is_has_no_fault() -> None:
    assert new_in(with_text(PATH, agents(ENTRY))) == []


@pytest.mark.parametrize(
    ("text", "rule", "line", "said"),
    [
        ("", "config-literal", None, "It says AGENTS = {…} 0 times"),
        ("AGENTS = []\n", "config-literal", 1, "`[]` is no {…}"),
        ("AGENTS = read()\n", "config-literal", 1, "`read()` is no {…}"),
        (f"MORE = {{}}\n{agents(ENTRY)}", "config-literal", 1, "Only AGENTS = {…} may stand here"),
        (agents(ENTRY) + 'AGENTS["eve"] = {}\n', "config-literal", 9, "Only AGENTS = {…} may stand here"),
        (agents(ENTRY + "    **MORE,\n"), "config-literal", 8, "`MORE` is spread into it"),
        (changed('"triager":', "NAME:"), "config-literal", 2, "`NAME` is worked out"),
        (changed("30", "60 // 2"), "config-literal", 6, "`60 // 2` is worked out"),
        (changed('"Triager"', 'f"Triager"'), "config-literal", 4, "is worked out"),
        (
            changed("30,", '30,\n        "calls_per_minute": 30,'),
            "config-twice",
            7,
            "'calls_per_minute' is there twice",
        ),
        (agents(ENTRY + ENTRY), "config-twice", 8, "'triager' is there twice"),
        (agents('    "triager": "app.agents.triager",\n'), "agents-entry", 2, "\"triager\" is 'app.agents.triager'"),
        (changed('"triager"', '"tri ager"'), "agents-name", 2, "letters, digits"),
        (changed("calls_per_minute", "calls_a_minute"), "agents-key", 6, 'Did you mean "calls_per_minute"?'),
        (changed('"scopes"', '"scope"'), "agents-key", 5, 'Did you mean "scopes"?'),
        (changed('"class"', '"clas"'), "agents-key", 4, 'Did you mean "class"?'),
        (changed("30,", '30,\n        "colour": 1,'), "agents-key", 7, 'there is no key "colour"'),
        (changed('"app.agents.triager"', '""'), "agents-identity", 3, "has no module"),
        (changed('"Triager"', "7"), "agents-identity", 4, "has no class"),
        (changed("app.agents.triager", "app.agents.eve"), "agents-module", 3, "there is no app/agents/eve.py"),
        (changed("app.agents.triager", "app.domain"), "agents-module", 3, "stands outside app/agents/"),
        (changed('"Triager"', '"Triagers"'), "agents-class", 4, "declares no class Triagers"),
        (changed('"Triager"', '"Agent"'), "agents-class", 4, "declares no class Agent"),
        (agents(ENTRY + ENTRY.replace('"triager"', '"eve"')), "agents-class-twice", 10, '"triager" and "eve" are both'),
        (changed('["tool:tickets_index", "tool:tickets_close"]', '"tools"'), "agents-scopes", 5, "no list of scopes"),
        (changed("tool:tickets_close", "tools:*"), "agents-scope", 5, '"tools:*" is not a scope here'),
        (changed('"tool:tickets_close"', "7"), "agents-scope", 5, '"7" is not a scope here'),
        (
            changed("30,", '30,\n        "routing.authorize": "allow",'),
            "agents-authorize",
            7,
            "is module:function, not 'allow'",
        ),
        (changed("30", "0"), "agents-limit", 6, "at least 1, not 0"),
        (changed("30", "True"), "agents-limit", 6, "at least 1, not True"),
        (changed("30", "1.5"), "agents-limit", 6, "at least 1, not 1.5"),
        (changed("30", '"10"'), "agents-limit", 6, "at least 1, not '10'"),
    ],
)
def test_a_fault_in_the_registry_is_found(text: str, rule: str, line: int | None, said: str) -> None:
    found = new_in(with_text(PATH, text))
    assert told(found) == [(rule, f"{PATH}:{line}" if line else PATH)]
    assert said in found[0].message


def test_a_class_that_is_no_agent_is_found() -> None:
    [found] = new_in(edited("app/agents/triager.py", "class Triager(Agent[TriagerState])", "class Triager"))
    assert found.rule == "agents-class"
    assert "Triager is no Agent" in found.message


def test_an_agent_may_inherit_from_another_module_of_agents() -> None:
    text = the_tree().files["app/agents/triager.py"]
    split = text.replace("class Triager(Agent[TriagerState])", "class Triager(Base)")
    split = "from app.agents.base import Base\n" + split
    tree = with_text("app/agents/triager.py", split)
    base = "from app.runtime.durable.agent import Agent\n\n\nclass Base(Agent[int]): ...\n"
    assert new_in(type(tree)(tree.root, {**tree.files, "app/agents/base.py": base})) == []


def test_a_name_in_rpc_that_is_no_method_is_found() -> None:
    [found] = new_in(edited("app/agents/triager.py", 'rpc = ("sweep"', 'rpc = ("sweeps", "sweep"'))
    assert found.rule == "agents-rpc"
    assert 'rpc names "sweeps"' in found.message


ANYTHING = st.sampled_from(
    [
        None,
        True,
        0,
        7,
        -1,
        1.5,
        "",
        "x",
        "10",
        "app.agents.triager",
        "Triager",
        [],
        ["*"],
        ["tool:a"],
        [None],
        ("tool:a",),
        {},
    ]
)
ENTRIES = st.dictionaries(st.sampled_from([*KEYS, "scope"]), ANYTHING)


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.sampled_from(["triager", "eve", "", "a b", "a:b"]), ENTRIES, max_size=2))
def test_what_a_start_would_refuse_is_found(entries: dict[str, Any]) -> None:
    try:
        read(entries)
    except WiringError:
        tree = Tree(the_tree().root, the_tree().files | {PATH: f"AGENTS = {entries!r}\n"})
        assert [each for each in registry.findings(tree) if each.level == "error"]
