"""The console's house, for the tests of its pages."""

import asyncio
import base64
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path
from shutil import copy

import pytest
from support_console import Clock, House, furnish

from app.main import build
from config.settings import Settings


@pytest.fixture
def house(migrated: Path, tmp_path: Path, now: datetime) -> Iterator[House]:
    copy(migrated, tmp_path / "triager.sqlite")
    ids, clock = count(1), Clock(now)
    key = base64.b64encode(bytes(32)).decode()
    settings = Settings(data_dir=tmp_path, app_key=key, secure_cookies=False)
    system = build(settings, clock=clock, new_id=lambda: f"id{next(ids)}")
    asyncio.run(system.db.write(furnish, now))
    yield House(system, clock)
    system.close()
