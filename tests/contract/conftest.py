"""Every test of this folder runs once for each kind of host."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from db.engine import Database
from tests.contract.host_under_test import Embedded, HostUnderTest
from tests.world import Clock


@pytest.fixture(params=[Embedded])
def host(request: pytest.FixtureRequest, tmp_path: Path, database: Database, now: datetime) -> Iterator[HostUnderTest]:
    host: HostUnderTest = request.param(tmp_path, database, Clock(now))
    yield host
    host.close()
