"""What a figure was taken on, and with. Figures without that are hearsay."""

import os
import platform
import sqlite3
from importlib.metadata import version

from app.runtime.instants import utc_now

PACKAGES = ("litestar", "sqlalchemy", "msgspec", "uvicorn")


def machine() -> dict[str, str]:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return {
        "date": utc_now().date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "versions": f"{packages}, SQLite {sqlite3.sqlite_version}",
    }


def line() -> str:
    return ", ".join(machine().values())
