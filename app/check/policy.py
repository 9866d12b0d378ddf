"""config/triage.py: literal data that `Policy` describes, key by key."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import structs

from app.agents.policy import Policy
from app.check.finding import Finding, error
from app.check.literals import Data, literal, literal_findings
from app.check.tree import Tree
from app.runtime.spelling import did_you_mean

PATH = "config/triage.py"
FIELDS = {field.encode_name: field for field in structs.fields(Policy)}


def findings(tree: Tree) -> Iterator[Finding]:
    yield from literal_findings(tree, PATH, "POLICY")
    if data := literal(tree, PATH, "POLICY"):
        yield from _policy_findings(data)


def _policy_findings(data: Data) -> Iterator[Finding]:
    for key, value in data.value.items():
        if key not in FIELDS:
            yield error(
                "policy-key", data.where(key), f'There is no key "{key}".{did_you_mean(key, FIELDS) or " Take it out."}'
            )
        elif problem := _misfit(value, FIELDS[key].type):
            yield error("policy-value", data.where(key), f"{key}: {problem}, as app/agents/policy.py has it.")
    meant = {did_you_mean(key, FIELDS) for key in data.value if key not in FIELDS}
    for key, field in FIELDS.items():
        if field.required and key not in data.value and did_you_mean(key, [key]) not in meant:
            yield error("policy-missing", data.where(), f"It says nothing of {key}. Add it.")


def _misfit(value: Any, annotation: Any) -> str | None:
    try:
        msgspec.convert(value, annotation)
    except msgspec.ValidationError as fault:
        return str(fault)
    return None
