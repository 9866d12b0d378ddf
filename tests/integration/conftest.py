"""The console's house, for the tests of its pages."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from shutil import copy

import pytest
from support_console import House, opened


@pytest.fixture
def house(migrated: Path, tmp_path: Path, now: datetime) -> Iterator[House]:
    copy(migrated, tmp_path / "triager.sqlite")
    with opened(tmp_path, now) as house:
        yield house
