"""`triager agent make`: a new agent in its places: what it does, what it decides, a test of it, its registration."""

import ast
import builtins
import keyword
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import rich_click as click

from app.domain import Refusal
from config.settings import ROOT

NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
NAME_MAX = 24  # characters
TEMPLATES = Path(__file__).with_name("scaffold")
REGISTRY = "config/agents.py"
CHECKOUT = ("pyproject.toml", REGISTRY, "app/agents", "tests/integration")
ENTRY = """\
    "$name": {
        "module": "app.agents.$module",
        "class": "$class",
        "scopes": ["tool:tickets_index"],
    },
"""
NEXT = """\
Next: say in app/agents/${module}_plan.py what it does about a ticket. A tool that it calls must be among its scopes
in config/agents.py, and the guard of that route must admit it: operator_or("$name"), of app/auth/guards.py.
What its constructor takes, if anything, goes into POLICIES in app/product.py. A host that runs must start again.
For Cloudflare, `triager check` says what to paste into wrangler.jsonc.
"""


class Scaffold(NamedTuple):
    """`files`: text by path. `entry`: lines for the registry."""

    files: dict[str, str]
    entry: str
    next: str


@click.command("make")
@click.argument("name")
def agent_make(name: str) -> None:
    """Write a new agent into this checkout: what it does, what it decides, a test of it, its registration."""
    if missing := [part for part in CHECKOUT if not (ROOT / part).exists()]:
        raise Refusal(f"{ROOT} is no checkout of the sources: there is no {missing[0]}. Nothing was written.")
    made = scaffold(name)
    _stands_alone(name, made)
    registry, why_not = _registry(name, made)
    write(ROOT, made.files, {} if registry is None else {REGISTRY: registry})
    for path in made.files:
        click.echo(f"created  {path}")
    if registry is None:
        click.echo(f"left     {REGISTRY}: {why_not}. Put this into AGENTS there:\n\n{made.entry}")
    else:
        click.echo(f"patched  {REGISTRY}")
    click.echo(made.next)
    raise SystemExit(registry is None)


def scaffold(name: str) -> Scaffold:
    """Raises Refusal for a name that no agent can have."""
    if not NAME.fullmatch(name) or len(name) > NAME_MAX:
        rule = f"at most {NAME_MAX} small letters and digits, with single - or _ between, a letter first"
        raise Refusal(f'"{name}" is no name for an agent: {rule}. Nothing was written.')
    module = name.replace("-", "_")
    class_name = "".join(part.capitalize() for part in module.split("_"))
    texts = {
        f"app/agents/{module}.py": _template("agent"),
        f"app/agents/{module}_plan.py": _template("plan"),
        f"tests/integration/test_{module}.py": _template("test"),
    }
    used = any(re.search(rf"\b{class_name}\b", text) for text in texts.values())  # by every agent's own module
    if used or keyword.iskeyword(module) or hasattr(builtins, class_name):
        raise Refusal(f'"{name}" means something else in Python, or in an agent. Nothing was written. Choose another.')

    def fill(text: str) -> str:
        return Template(text).substitute({"name": name, "module": module, "class": class_name})

    return Scaffold({path: fill(text) for path, text in texts.items()}, fill(ENTRY), fill(NEXT))


def _template(part: str) -> str:
    return (TEMPLATES / f"{part}.tmpl").read_text()


def _stands_alone(name: str, made: Scaffold) -> None:
    """Nothing of it is there: no file, no test of that name anywhere, as pytest wants them apart."""
    tests = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
    there = [ROOT / path for path in made.files if (ROOT / path).exists()]
    there += [tests[Path(path).name] for path in made.files if Path(path).name in tests]
    if there:
        where = there[0].relative_to(ROOT)
        raise Refusal(f"{where} is there already. Nothing was written. Choose another name than {name}.")


def _registry(name: str, made: Scaffold) -> tuple[str | None, str]:
    """The registry's new text; or None, and why somebody must write it by hand."""
    try:
        return with_entry((ROOT / REGISTRY).read_bytes().decode(), name, made.entry), ""
    except SyntaxError as error:
        return None, f"it is no Python ({error})"
    except ValueError as error:
        return None, str(error)


def with_entry(source: str, name: str, entry: str) -> str:
    """The source with the entry as the last of AGENTS; every other character stays.

    Raises ValueError where AGENTS is not plain data that ends in a line of its own. Raises Refusal for a name in use.
    """
    before, last_line = _agents(source)
    if name in before:
        raise Refusal(f'There is an agent "{name}" in {REGISTRY} already. Nothing was written. Choose another name.')
    lines = source.splitlines(keepends=True)
    patched = "".join((*lines[: last_line - 1], entry, *lines[last_line - 1 :]))
    with suppress(SyntaxError, ValueError):
        if [*_agents(patched)[0].items()] == [*before.items(), *ast.literal_eval(f"{{{entry}}}").items()]:
            return patched
    raise ValueError("AGENTS does not end with a comma, and a line with nothing but its closing brace")


def _agents(source: str) -> tuple[dict[str, Any], int]:
    """What AGENTS says, and the line in which it ends."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            [target, *others] = node.targets if isinstance(node, ast.Assign) else [node.target]
            if ast.unparse(target) == "AGENTS" and not others:
                return ast.literal_eval(node.value), node.value.end_lineno or 0
    raise ValueError("there is no AGENTS = {…} of literal data")


def write(root: Path, new: Mapping[str, str], changed: Mapping[str, str]) -> None:
    """All of it, or nothing. Raises OSError, FileExistsError among them."""
    written: list[Path] = []
    try:
        for path, text in new.items():
            with (root / path).open("x") as file:
                written.append(root / path)
                file.write(text)
        for path, text in changed.items():
            beside = root / f"{path}.new"
            written.append(beside)
            beside.write_bytes(text.encode())
            beside.replace(root / path)
    except BaseException:
        for file_written in written:
            file_written.unlink(missing_ok=True)
        raise
