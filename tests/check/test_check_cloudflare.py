"""`triager check` tells what a build for Cloudflare would refuse, with what to paste."""

import importlib.util
import json

import pytest

from app.check import cloudflare
from app.check.tree import Tree
from tests.check.planted import the_tree, told, with_text

CONFIG = "wrangler.jsonc"


def test_the_product_as_it_is_has_no_fault() -> None:
    assert list(cloudflare.findings(the_tree())) == []


def test_what_wrangler_jsonc_lacks_is_found_with_what_to_paste() -> None:
    text = the_tree().files[CONFIG].replace('"class_name": "Triager"', '"class_name": "Eve"')
    found = list(cloudflare.findings(with_text(CONFIG, text)))
    assert told(found) == [("cloudflare-class", CONFIG), ("cloudflare-binding", CONFIG)]
    paste = {"durable_objects": {"bindings": [{"name": "TRIAGER", "class_name": "Triager"}]}}
    assert found[1].message.endswith(f"Paste: {json.dumps(paste)}")


def test_randomness_at_import_is_found_on_its_line() -> None:
    path = "app/agents/policy.py"
    planted = with_text(path, f"import uuid\n\nX = uuid.uuid4()\n{the_tree().files[path]}")
    assert told(cloudflare.findings(planted)) == [("cloudflare-start", f"{path}:3")]


def test_a_registry_with_faults_of_its_own_is_told_by_its_own_rules() -> None:
    assert list(cloudflare.findings(with_text("config/agents.py", 'AGENTS = {"triager": {}}\n'))) == []


def test_without_that_folder_there_is_nothing_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(the_tree().root, {**the_tree().files, CONFIG: "{}"})
    assert list(cloudflare.findings(tree))
    monkeypatch.setattr(
        cloudflare, "find_spec", lambda name: None if "cloudflare" in name else importlib.util.find_spec(name)
    )
    assert list(cloudflare.findings(tree)) == []
