"""What the log says, and what it must not."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.web.tracing import configure_logs
from tests.world import TOKEN, a_world

pytestmark = pytest.mark.anyio


async def test_a_crash_is_logged_with_its_trace_and_without_anybodys_secrets(
    tmp_path: Path, migrated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with a_world(tmp_path, migrated) as world:
        configure_logs()
        (tmp_path / "triager.sqlite").rename(tmp_path / "gone.sqlite")
        world.system.db.close()
        answer = await world.client.get("/approvals", headers={"Cookie": "session=c0ffee"})
        assert answer.status_code == 500
        (tmp_path / "triager.sqlite").unlink(missing_ok=True)
        (tmp_path / "gone.sqlite").rename(tmp_path / "triager.sqlite")
    logged = capsys.readouterr().err
    lines: list[dict[str, Any]] = [json.loads(line) for line in logged.splitlines()]
    crash = next(line for line in lines if line["event"] == "unhandled")
    assert crash["trace_id"] == answer.headers["x-trace-id"]
    assert crash["exception"][0]["exc_type"]
    for secret in (TOKEN, "c0ffee"):
        assert secret not in logged


async def test_a_link_that_signs_somebody_in_is_not_in_the_log(
    tmp_path: Path, migrated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with a_world(tmp_path, migrated) as world:
        configure_logs()
        await world.client.get("/sign-in/link/c0ffee", headers={"accept": "text/html"})
    logged = capsys.readouterr().err
    assert '"path": "/sign-in/link/[REDACTED]"' in logged
    assert "c0ffee" not in logged
