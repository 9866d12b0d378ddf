"""One planted mistake for each rule that a build holds the product to: exactly that is found, with what mends it."""

import json
from functools import cache
from typing import Any

import pytest

from app.cloudflare import jsonc
from app.cloudflare.build import read
from app.cloudflare.fault import Fault, together
from app.cloudflare.findings import faults
from config.agents import AGENTS
from config.settings import ROOT

CONFIG = "wrangler.jsonc"
ENTRY = {"module": "app.agents.eve", "class": "Eve", "scopes": []}
EVE = "from app.runtime.durable.agent import Agent\n\n\nclass Eve(Agent[int]): ...\n"


@cache
def the_files() -> dict[str, str]:
    return read(ROOT)


def config() -> Any:
    return jsonc.parse(the_files()[CONFIG])


def found(agents: Any = AGENTS, /, **files: str) -> list[Fault]:
    """What is new beside what is wrong with the tree as it is: nothing, which a test of its own holds."""
    planted = the_files() | {path.replace("__", "/"): text for path, text in files.items()}
    return [each for each in faults(planted, agents) if each not in already()]


@cache
def already() -> tuple[Fault, ...]:
    return tuple(faults(the_files(), AGENTS))


def of_config(changed: Any) -> list[Fault]:
    return found(**{CONFIG: json.dumps(changed)})


def rules(faults: list[Fault]) -> list[str]:
    return [each.rule for each in faults]


def test_the_product_as_it_is_has_no_fault() -> None:
    assert already() == ()


def test_a_product_without_wrangler_jsonc_is_told_a_whole_one() -> None:
    files = {path: text for path, text in the_files().items() if path != CONFIG}
    whole = together(faults(files, AGENTS))
    assert of_config(whole) == []
    assert whole["durable_objects"] == {"bindings": [{"name": "TRIAGER", "class_name": "Triager"}]}
    assert whole["migrations"] == [{"tag": "v1", "new_sqlite_classes": ["Triager"]}]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": triager}', '"x"'])
def test_a_config_that_nobody_can_read_is_a_fault(text: str) -> None:
    assert "cloudflare-config" in rules(found(**{CONFIG: text}))


def test_a_class_without_a_binding_is_found_with_the_binding_to_paste() -> None:
    changed = config() | {"durable_objects": {"bindings": []}}
    [fault] = of_config(changed)
    assert fault.rule == "cloudflare-binding"
    assert fault.paste == {"durable_objects": {"bindings": [{"name": "TRIAGER", "class_name": "Triager"}]}}


def test_a_binding_of_another_worker_does_not_count() -> None:
    binding = {"name": "TRIAGER", "class_name": "Triager", "script_name": "other"}
    assert rules(of_config(config() | {"durable_objects": {"bindings": [binding]}})) == ["cloudflare-binding"]


def test_a_binding_of_another_name_does_not_count_and_may_be_there_besides() -> None:
    other = {"name": "AGENT", "class_name": "Triager"}
    assert rules(of_config(config() | {"durable_objects": {"bindings": [other]}})) == ["cloudflare-binding"]
    both = [*config()["durable_objects"]["bindings"], other]
    assert of_config(config() | {"durable_objects": {"bindings": both}}) == []


def test_a_class_name_that_no_agent_has_is_found() -> None:
    stray = {"name": "EVE", "class_name": "Eve"}
    bindings = [*config()["durable_objects"]["bindings"], stray]
    [fault] = of_config(config() | {"durable_objects": {"bindings": bindings}})
    assert fault.rule == "cloudflare-class"
    assert "EVE binds the class Eve, which no registered agent has" in fault.said


@pytest.mark.parametrize(
    ("migrations", "tag"),
    [
        ([], "v1"),
        ([{"tag": "v1", "new_sqlite_classes": ["Triager"]}, {"tag": "v2", "deleted_classes": ["Triager"]}], "v3"),
        ([{"tag": "v9", "new_sqlite_classes": ["Old"]}, {"tag": "v4", "deleted_classes": ["Old"]}], "v10"),
    ],
)
def test_a_class_without_storage_after_all_migrations_is_found_with_the_next_to_paste(
    migrations: list[Any], tag: str
) -> None:
    [fault] = of_config(config() | {"migrations": migrations})
    assert fault.rule == "cloudflare-storage"
    assert fault.paste == {"migrations": [{"tag": tag, "new_sqlite_classes": ["Triager"]}]}


@pytest.mark.parametrize(
    "migrations",
    [
        [
            {"tag": "v1", "new_sqlite_classes": ["Old"]},
            {"tag": "v2", "renamed_classes": [{"from": "Old", "to": "Triager"}]},
        ],
        [{"tag": "v1", "transferred_classes": [{"from": "Old", "from_script": "other", "to": "Triager"}]}],
    ],
)
def test_a_rename_and_a_transfer_carry_the_storage(migrations: list[Any]) -> None:
    assert of_config(config() | {"migrations": migrations}) == []


def test_a_class_that_is_stored_as_key_values_is_refused() -> None:
    [fault] = of_config(config() | {"migrations": [{"tag": "v1", "new_classes": ["Triager"]}]})
    assert fault.rule == "cloudflare-storage"
    assert "is stored as legacy-kv" in fault.said


def test_a_migration_of_a_class_that_no_agent_has_is_found() -> None:
    [fault] = of_config(config() | {"migrations": [{"tag": "v1", "new_sqlite_classes": ["Triager", "Eve"]}]})
    assert fault.rule == "cloudflare-class"
    assert "Eve has storage" in fault.said


@pytest.mark.parametrize(
    ("entry", "fine"),
    [
        ({"type": "durable-object", "storage": "sqlite"}, True),
        ({"type": "durable-object", "state": "expecting-transfer", "storage": "sqlite", "transfer_from": "x"}, True),
        ({"type": "durable-object", "storage": "legacy-kv"}, False),
        ({"type": "durable-object", "state": "deleted"}, False),
        ({"type": "durable-object", "state": "deleted", "storage": "sqlite"}, False),
    ],
)
def test_exports_are_read_in_place_of_migrations(entry: Any, fine: bool) -> None:
    changed = {key: value for key, value in config().items() if key != "migrations"}
    assert rules(of_config(changed | {"exports": {"Triager": entry}})) == ([] if fine else ["cloudflare-storage"])


def test_every_named_environment_is_held_to_the_same_and_inherits_no_binding() -> None:
    whole = {key: config()[key] for key in ("durable_objects", "d1_databases")}
    assert of_config(config() | {"env": {"staging": whole}}) == []
    bare = of_config(config() | {"env": {"staging": whole, "production": {}}})
    assert rules(bare) == ["cloudflare-database", "cloudflare-binding"]
    assert all('In environment "production"' in fault.said for fault in bare)
    pasted = together(bare)["env"]["production"]
    assert of_config(config() | {"env": {"staging": whole, "production": pasted}}) == []


def test_an_environment_may_undo_what_it_inherits_and_is_found_out() -> None:
    whole = {key: config()[key] for key in ("durable_objects", "d1_databases")}
    faults = of_config(config() | {"env": {"staging": whole | {"compatibility_flags": [], "migrations": []}}})
    assert rules(faults) == ["cloudflare-flag", "cloudflare-storage"]


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("d1_databases", [], "cloudflare-database"),
        ("d1_databases", [{"binding": "DATABASE"}], "cloudflare-database"),
        ("compatibility_flags", [], "cloudflare-flag"),
        ("compatibility_date", "2026-09-07", "cloudflare-config"),
        ("compatibility_date", None, "cloudflare-config"),
        ("main", "src/main.py", "cloudflare-config"),
        ("name", None, "cloudflare-config"),
        ("rules", [], "cloudflare-files"),
        ("assets", {"directory": "static"}, "cloudflare-files"),
        ("triggers", {"crons": ["0 3 * * *"]}, "cloudflare-trigger"),
    ],
)
def test_what_else_the_worker_needs_is_found_with_what_mends_it(key: str, value: Any, rule: str) -> None:
    [fault] = of_config(config() | {key: value})
    assert fault.rule == rule
    assert list(fault.paste) == [key]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import uuid\nX = uuid.uuid4()\n", "uuid.uuid4() draws at random"),
        ("from uuid import uuid4 as new\nX = new().hex\n", "uuid.uuid4() draws at random"),
        ("import random\n\nclass C:\n    x = random.random()\n", "random.random() draws at random"),
        ("from secrets import token_hex\n\ndef f(x: str = token_hex(3)) -> None: ...\n", "secrets.token_hex() draws"),
        ("import os\n\ndef f() -> bytes:\n    return os.urandom(3)\n\nX = f()\n", "f() leads there: os.urandom()"),
        ("from app.runtime.instants import utc_now\nX = utc_now()\n", "app.runtime.instants.utc_now() leads there"),
        ("from time import time\nX = time()\n", "time.time() reads the clock"),
        ("import datetime as d\nX = d.datetime.now(d.UTC)\n", "datetime.datetime.now() reads the clock"),
        ("from sqlalchemy import select\nX = select().subquery()\n", "subquery() without a name draws one at random"),
        ('from sqlalchemy import func\nX = func.a().table_valued("value")\n', "table_valued() without a name"),
        ("from sqlalchemy.orm import aliased\nX = aliased(int)\n", "aliased() without a name draws one"),
        ("from threading import Thread\nThread(target=print).start()\n", "threading.Thread() starts threads"),
        ("from concurrent.futures import ThreadPoolExecutor as P\nif True:\n    X = P()\n", "starts threads"),
    ],
)
def test_randomness_clocks_and_threads_at_import_are_found(line: str, said: str) -> None:
    path = "app/agents/answers.py"
    text = the_files()[path]
    [fault] = found(**{path: f"{text}\n{line}"})
    assert fault.rule == "cloudflare-start"
    assert fault.where.startswith(f"{path}:")
    assert said in fault.said


@pytest.mark.parametrize(
    "line",
    [
        "from uuid import uuid4\n\ndef f() -> str:\n    return uuid4().hex\n",
        "from uuid import uuid4\nf = lambda: uuid4().hex\n",
        'from sqlalchemy import func, select\nX = func.a().table_valued("value", name="each"), select().cte("c")\n',
        "from uuid import uuid4\n\ndef f(new=uuid4, at=lambda: uuid4()) -> None: ...\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import cryptography\n",
        "def f() -> None:\n    import cryptography\n",
    ],
)
def test_what_runs_only_when_it_is_called_is_not(line: str) -> None:
    path = "app/agents/answers.py"
    assert found(**{path: f"{the_files()[path]}\n{line}"}) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import cryptography.fernet\n", "cryptography is not there on Workers"),
        ("from app.cli.common import run\n", "app.cli.common.run stays at home"),
        ("from app import migrations\n", "app.migrations stays at home"),
    ],
)
def test_an_import_that_finds_nothing_there_is_found(line: str, said: str) -> None:
    path = "app/agents/answers.py"
    [fault] = found(**{path: f"{line}{the_files()[path]}"})
    assert (fault.rule, fault.where) == ("cloudflare-import", f"{path}:1")
    assert said in fault.said


def test_a_module_that_the_worker_does_not_import_is_left_alone() -> None:
    assert found(**{"app/agents/unused.py": "import uuid\nX = uuid.uuid4()\n"}) == []


def test_a_module_that_is_no_python_is_found() -> None:
    [fault] = found(**{"app/agents/triager.py": "def\n"})
    assert (fault.rule, fault.where) == ("cloudflare-start", "app/agents/triager.py:1")


def test_a_second_agent_needs_its_own_halves_and_one_binding_name_is_for_one_class() -> None:
    agents = AGENTS | {"eve": ENTRY}
    planted = found(agents, **{"app/agents/eve.py": EVE})
    assert together(planted) == {
        "durable_objects": {"bindings": [{"name": "EVE", "class_name": "Eve"}]},
        "migrations": [{"tag": "v2", "new_sqlite_classes": ["Eve"]}],
    }
    alike = {"one": ENTRY | {"class": "HTTPAgent"}, "two": ENTRY | {"class": "HttpAgent"}}
    told = [each.said for each in faults(the_files(), alike)]
    assert "2 agents' classes would be bound as HTTP_AGENT. Give one of them another name." in told


def test_a_class_that_its_module_does_not_declare_is_found() -> None:
    agents = {"triager": AGENTS["triager"] | {"module": "app.agents.policy"}}
    [fault] = found(agents)
    assert (fault.rule, fault.said) == ("cloudflare-class", '"triager": app.agents.policy declares no class Triager.')


@pytest.mark.parametrize(
    "function", ["app.agents.policy:allow", "app.agents.nowhere:allow", "app.agents.policy:Policy"]
)
def test_a_function_that_is_to_let_requests_through_and_is_not_there_is_found(function: str) -> None:
    agents = {"triager": AGENTS["triager"] | {"routing.authorize": function}}
    assert rules(found(agents)) == ["cloudflare-authorize"]


def test_the_module_of_a_function_that_lets_requests_through_is_held_to_the_same() -> None:
    agents = {"triager": AGENTS["triager"] | {"routing.authorize": "app.access:allow"}}
    [fault] = found(agents, **{"app/access.py": "import uuid\nX = uuid.uuid4()\n\ndef allow() -> None: ...\n"})
    assert fault.where == "app/access.py:2"
