"""One workerd for all tests here, on what `triager cloudflare build` writes. A cold start takes many seconds."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cloudflare import sql
from app.cloudflare.build import build
from app.services import tokens
from config.agents import AGENTS
from config.settings import ROOT
from tests.workers.toolchain.dev import missing, prepare, serving, wrangler

PATIENCE_S = 180  # the first answer waits for the interpreter


class Installation:
    """A Worker with a D1 and objects of its own, which a restart keeps. The operator is signed in by a token."""

    def __init__(self, folder: Path, token: str) -> None:
        self.folder, self.token = folder, token
        self._running = ExitStack()

    def start(self) -> None:
        address = self._running.enter_context(serving(self.folder))
        self.web = self._running.enter_context(httpx.Client(base_url=address, timeout=PATIENCE_S))
        assert self.web.get("/health").status_code == 200, self.log()[-4000:]

    def stop(self) -> None:
        self._running.close()

    def call(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        return self.web.request(method, path, headers={"Authorization": f"Bearer {self.token}"}, **arguments)

    def browser(self) -> httpx.Client:
        """Somebody who is not signed in."""
        return httpx.Client(base_url=self.web.base_url, timeout=PATIENCE_S)

    def door(self, name: str, text: str = "") -> Any:
        return self.web.post(f"/tests/{name}", content=text).raise_for_status().json()

    def d1(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.door("d1", json.dumps([statement, *values]))
        return rows

    def until(self, wanted: list[dict[str, Any]], statement: str, *values: Any) -> None:
        """Until D1 answers that."""
        self.look_until(wanted, lambda: self.d1(statement, *values))

    def log(self) -> str:
        return (self.folder / "dev.log").read_text()

    def look_until(self, wanted: Any, look: Callable[[], Any]) -> None:
        until = time.monotonic() + PATIENCE_S
        while (found := look()) != wanted:
            assert time.monotonic() < until, f"{found}\n{self.log()[-4000:]}"
            time.sleep(0.25)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("workers") / "built"
    build(ROOT, target, AGENTS)
    return target


@pytest.fixture(scope="session")
def toolchain() -> None:
    if said := missing():
        assert "CI" not in os.environ, said
        pytest.skip(said)


@pytest.fixture(scope="session")
def folder(built: Path, tmp_path_factory: pytest.TempPathFactory, toolchain: None) -> Path:
    """Ready to run, with the tests' own doors, and an empty database."""
    prepared = prepare(built, tmp_path_factory.mktemp("installation"))
    (prepared / "src" / "entry.py").rename(prepared / "src" / "entry_built.py")
    (prepared / "src" / "entry.py").write_text(Path(__file__).with_name("doors.py").read_text())
    wrangler(prepared, "d1", "migrations", "apply", "DB", "--local")
    return prepared


@pytest.fixture(scope="session")
def installation(folder: Path) -> Iterator[Installation]:
    token = tokens.fresh(os.urandom)
    (folder / "seed.sql").write_text(sql.seed(token, datetime.now(UTC)))
    wrangler(folder, "d1", "execute", "DB", "--local", "--file", "seed.sql")
    made = Installation(folder, token)
    made.start()
    yield made
    made.stop()
