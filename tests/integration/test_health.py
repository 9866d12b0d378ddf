"""Alive is not ready: /health answers as long as the process does, /health/ready only when all is well."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from app import migrations
from app.runtime.instants import after
from db.schema import HEAD
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

READY = {"ok": True, "database": True, "schema": True, "host": True, "alarms_late_s": 0.0}


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


@asynccontextmanager
async def running(world: World) -> AsyncIterator[None]:
    """Its host, as `serve` runs it."""
    stop = asyncio.Event()
    host = asyncio.create_task(world.system.host.run(stop))
    await asyncio.sleep(0)
    yield
    stop.set()
    await host


async def asked(world: World, path: str = "/health/ready") -> tuple[int, Any]:
    """By a stranger."""
    transport = httpx.ASGITransport(world.system.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as stranger:
        answer = await stranger.get(path)
    return answer.status_code, answer.json()


def test_the_schema_that_readiness_wants_is_the_newest() -> None:
    assert migrations.head() == HEAD


async def test_all_is_well(world: World) -> None:
    async with running(world):
        assert await asked(world) == (200, READY)


async def test_a_process_without_a_running_host_is_alive_and_not_ready(world: World) -> None:
    not_ready = (503, {**READY, "ok": False, "host": False, "alarms_late_s": None})
    assert await asked(world) == not_ready
    async with running(world):
        pass
    assert await asked(world) == not_ready
    assert await asked(world, "/health") == (200, {"ok": True})


async def test_an_old_schema_is_not_ready(world: World) -> None:
    await world.system.db.write(lambda s: s.execute(text("UPDATE alembic_version SET version_num = '0000'")) and None)
    async with running(world):
        assert await asked(world) == (503, {**READY, "ok": False, "schema": False})


async def test_a_database_that_is_none_is_not_ready(world: World, tmp_path: Path) -> None:
    async with running(world):
        await world.system.db.write(lambda s: s.execute(text("DROP TABLE alembic_version")) and None)
        assert await asked(world) == (503, {**READY, "ok": False, "database": False, "schema": False})


@pytest.mark.parametrize(("late_s", "status"), [(60.0, 200), (60.001, 503)])
async def test_alarms_that_fall_behind_are_not_ready(world: World, late_s: float, status: int) -> None:
    async with running(world):
        world.system.host._alarms.set("triager", "slow", after(world.clock.at, -late_s))
        code, body = await asked(world)
        assert (code, body["ok"], body["alarms_late_s"]) == (status, status == 200, late_s)
        world.system.host._alarms.set("triager", "slow", None)


async def test_alive_costs_no_statement_and_ready_one(world: World) -> None:
    for path, statements in (("/health", 0), ("/health/ready", 1)):
        with capture_logs() as logs:
            await asked(world, path)
        [line] = [line for line in logs if line["event"] == "request"]
        assert line["statements"] == statements
