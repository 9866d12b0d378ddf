"""What keeps the product from running on Cloudflare, as its build finds it; nothing where that folder was deleted."""

import json
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

from app.check import registry
from app.check.finding import Finding, error
from app.check.tree import Tree


def findings(tree: Tree) -> Iterator[Finding]:
    data = registry.registry(tree)
    if data is None or not find_spec("app.cloudflare") or any(registry.findings(tree)):
        return
    for fault in import_module("app.cloudflare.findings").faults(tree.files, data.value):
        paste = f" Paste: {json.dumps(fault.paste)}" if fault.paste else ""
        yield error(fault.rule, fault.where, f"{fault.said}{paste}")
