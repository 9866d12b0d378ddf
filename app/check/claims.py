"""README's figures against the code they restate: a figure is the group of a pattern, a space in it any white space."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from app.check.finding import Finding, error, warning
from app.check.literals import literal
from app.check.tree import README, Tree
from config.settings import HOUR_S, Settings

WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
POLICY = "config/triage.py"
DEFAULT = Settings()


class Claim(NamedTuple):
    pattern: str
    source: str
    value: Callable[[Tree], Any]


def _policy(key: str) -> tuple[str, Callable[[Tree], Any]]:
    def value(tree: Tree) -> Any:
        data = literal(tree, POLICY, "POLICY")
        return data.value.get(key) if data else None

    return f"{key} in {POLICY}", value


def _setting(name: str, value: float) -> tuple[str, Callable[[Tree], Any]]:
    return f"{name} in config/settings.py", lambda _: value


def _constant(where: str, name: str) -> tuple[str, Callable[[Tree], Any]]:
    return f"{name} in {where}", lambda tree: constant(tree, where, name)


CLAIMS = (
    Claim(r"serves http://127\.0\.0\.1:(\d+)", *_setting("PORT", DEFAULT.port)),
    Claim(r"asks would fit; (\d+) leave room", *_policy("max_asks_per_sweep")),
    Claim(r"nobody answers for (\d+) hours", *_setting("APPROVAL_TTL", DEFAULT.approval_ttl_s / HOUR_S)),
    Claim(r"left alone for (\d+) hours", *_policy("cool_down_hours")),
    Claim(r"not used for (\d+) hours", *_setting("APPROVAL_USE_TTL", DEFAULT.approval_use_ttl_s / HOUR_S)),
    Claim(r"requests (\d+) days after their end", *_constant("app/services/", "APPROVALS_DAYS")),
    Claim(r"events after (\d+) days", *_constant("app/services/", "EVENTS_DAYS")),
    Claim(r"its last (\d+) runs", *_constant("app/runtime/durable/runs.py", "KEPT")),
    Claim(r"over (\d+) seconds late", *_constant("routes/", "LATE_MAX_S")),
)
BLOCK = re.compile(r"<!-- policy -->\n```python\n(.*?)```", re.DOTALL)
DERIVED = r"\((\d+) - (\d+) pages - (\d+) withdrawals\) / (\d+) = (\d+)"  # how many asks fit into one invocation


def claim_findings(tree: Tree) -> Iterator[Finding]:
    text = tree.files.get(README, "")
    for claim in CLAIMS:
        found = list(_matches(claim.pattern, text))
        value = claim.value(tree)
        if not found:
            said = f"It no longer says /{claim.pattern}/, as {claim.source} is {value}."
            yield warning("readme-silent", README, f"{said} Say it, or take the claim out of app/check/claims.py.")
        for match in found:
            if _number(match[1]) != value:
                said = f'It says "{_line(match)}", and {claim.source} is {value}. Correct the one that is wrong.'
                yield error("readme-figure", _where(match), said)
    for match in _matches(DERIVED, text):
        yield from _derivation_findings(tree, match)
    for match in BLOCK.finditer(text):
        yield from _policy_findings(tree, match)


def _policy_findings(tree: Tree, match: re.Match[str]) -> Iterator[Finding]:
    data = literal(tree, POLICY, "POLICY")
    try:
        shown = ast.literal_eval(f"{{{match[1]}}}")
    except (SyntaxError, ValueError):
        shown = None
    if data and shown != data.value:
        said = f"The policy it shows is not the one in {POLICY}. Show what stands between its braces."
        yield error("readme-policy", _where(match), said)


def _derivation_findings(tree: Tree, match: re.Match[str]) -> Iterator[Finding]:
    limit, pages, withdrawals, each, asks = map(int, match.groups())
    known = (constant(tree, "app/runtime/", "STATEMENT_LIMIT"), constant(tree, "app/agents/", "PAGES_MAX"))
    if (limit, pages) != known or (limit - pages - withdrawals) // each != asks:
        said = f'"{_line(match)}" does not follow: an invocation has {known[0]} statements, a sweep {known[1]} pages.'
        yield error("readme-derived", _where(match), f"{said} Work it out again.")


def constant(tree: Tree, where: str, name: str) -> Any:
    """The text or number that a module there assigns to the name at its top; None when none does."""
    bodies = (module.body for path, module in tree.modules() if path.startswith(where))
    for target, value in (pair for body in bodies for node in body for pair in _assigned(node)):
        if ast.unparse(target) == name and isinstance(value, ast.Constant):
            return value.value
    return None


def _assigned(node: ast.stmt) -> Iterable[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            return zip(names, values, strict=False)
        case ast.Assign(targets=[target], value=value):
            return [(target, value)]
    return []


def _matches(pattern: str, text: str) -> Iterator[re.Match[str]]:
    return re.finditer(pattern.replace(" ", r"\s+"), text)


def _number(text: str) -> float | None:
    return WORDS.get(text) or (float(text) if text.isdigit() else None)


def _line(match: re.Match[str]) -> str:
    return " ".join(match[0].split())


def _where(match: re.Match[str]) -> str:
    return f"{README}:{match.string.count(chr(10), 0, match.start()) + 1}"
