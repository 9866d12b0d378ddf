"""An endpoint with nothing in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support_mcp import Endpoint, an_endpoint


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def endpoint(tmp_path: Path, migrated: Path, anyio_backend: str) -> AsyncIterator[Endpoint]:
    async with an_endpoint(tmp_path, migrated) as made:
        yield made
