"""The contract suite, against Durable Objects: each test runs in workerd, where their classes can be."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.runtime.durable.cipher import AppKeyCipher
from config.settings import ROOT
from tests.workers.contract.cases import cases
from tests.workers.toolchain.dev import prepare, serving, wrangler

PATIENCE_S = 180
KEY = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
OURS = ("tests/clock.py", "tests/support_parcels.py", "tests/contract", "tests/workers/contract")


@pytest.fixture(scope="module")
def suite(built: Path, toolchain: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = prepare(built, tmp_path_factory.mktemp("contract"))
    for path in OURS:
        _copy(ROOT / path, folder / "src" / path)
    for name in ("entry.py", "pytest_in_workerd.py"):
        (folder / "src" / "tests/workers/contract" / name).rename(folder / "src" / name.replace("_in_workerd", ""))
    wrangler(folder, "d1", "migrations", "apply", "DB", "--local")
    with serving(folder) as address, httpx.Client(base_url=address, timeout=PATIENCE_S) as client:
        yield client


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "conftest.py", "embedded.py"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


@pytest.mark.parametrize("case", sorted(cases()))
def test_durable_objects_keep_the_contract(suite: httpx.Client, case: str) -> None:
    answer = suite.get(f"/{case}")
    assert answer.text == "passed", answer.text


def test_what_one_host_seals_another_opens_and_nothing_that_was_meant_elsewhere(suite: httpx.Client) -> None:
    cipher = AppKeyCipher([KEY], "ledger", os.urandom)
    sealed, elsewhere = (asyncio.run(cipher.seal(b'{"ticket_id": 1}', row)) for row in ("row 1", "row 2"))
    answer = suite.post("/cipher", content=sealed)
    assert asyncio.run(cipher.open(answer.text, "row 1")) == b'{"ticket_id": 1}'
    for other in (elsewhere, "unknown.AAAA", answer.text[:-8] + "AAAAAAA="):
        assert suite.post("/cipher", content=other).status_code == 422
