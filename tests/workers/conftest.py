"""One workerd for all tests here, on what `triager cloudflare build` writes. A cold start takes many seconds."""

import os
from pathlib import Path

import pytest

from app.cloudflare.build import build
from config.agents import AGENTS
from config.settings import ROOT
from tests.workers.toolchain.dev import missing


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
