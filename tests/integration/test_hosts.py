"""Which Host headers are answered."""

from pathlib import Path

import pytest

from tests.world import a_world

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:3336", "127.0.0.1:80", "[::1]:3336", "LOCALHOST", "desk.test:1"]
)
async def test_a_known_host_is_answered_whatever_its_port(tmp_path: Path, migrated: Path, host: str) -> None:
    async with a_world(tmp_path, migrated, allowed_hosts=("desk.test",)) as world:
        assert (await world.client.get("/health", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "localhost@evil.example:80", "", "[::1"])
async def test_any_other_host_is_refused_before_anything_runs(tmp_path: Path, migrated: Path, host: str) -> None:
    async with a_world(tmp_path, migrated) as world:
        assert (await world.client.get("/health", headers={"Host": host})).status_code == 400
