"""A database that holds very many tickets, made in seconds."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support import ago

YESTERDAY = ago(1)

# Every `step`th is open. The first `stale` of these were last active one after the other, all others in one instant.
TICKETS = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :stored)
INSERT INTO tickets (title, status, created_at, updated_at, last_activity_at)
SELECT :title, iif(n % :step, 'closed', 'open'), :at, :at,
       iif(n / :step > :stale, :at, '2026-01-01T00:' || strftime('%M:%S', n / :step, 'unixepoch') || '.000Z')
FROM numbers
"""


def stored(path: Path, migrated: Path, *, stored: int, step: int, stale: int, title: str = "x") -> Path:
    shutil.copy(migrated, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(TICKETS, {"stored": stored, "step": step, "stale": stale, "at": YESTERDAY, "title": title})
    return path
