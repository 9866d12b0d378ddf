"""Every test of this folder runs once for each kind of host; for Durable Objects, in `tests/workers/`."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from db.engine import Database
from tests.clock import Clock
from tests.contract.embedded import Embedded
from tests.contract.host_under_test import HostUnderTest


@pytest.fixture(params=[Embedded])
def host(request: pytest.FixtureRequest, tmp_path: Path, database: Database, now: datetime) -> Iterator[HostUnderTest]:
    host: HostUnderTest = request.param(tmp_path, database, Clock(now))
    yield host
    host.close()
