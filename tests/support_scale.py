"""A database that holds very many tickets, and requests about them, made in seconds."""

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

UNENDED = 60  # the ten newest lapsed
# One a minute, of a ticket each. The newest have not ended; of the others as many are used, rejected, expired, and
# cancelled, and as many were approved and cancelled after that.
APPROVALS = f"""
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :stored),
  said(n, ended, decision, at) AS (
    SELECT n, iif(n > :stored - {UNENDED}, NULL,
                  CASE n % 5 WHEN 0 THEN 'used' WHEN 1 THEN 'rejected' WHEN 2 THEN 'expired' ELSE 'cancelled' END),
           iif(n > :stored - {UNENDED}, NULL,
               CASE n % 5 WHEN 0 THEN 'approved' WHEN 1 THEN 'rejected' WHEN 3 THEN 'approved' END),
           strftime('%Y-%m-%dT%H:%M:00.000Z', '2026-03-09 11:00', '-' || (:stored - n) || ' minutes')
    FROM numbers)
INSERT INTO approvals (id, tool, input, fingerprint, principal_key, subject, preview, shown, requested_at, expires_at,
                       decision, decided_at, decided_by, use_by, ended, ended_at)
SELECT 'request-' || n, 'tickets_close', '{{}}', n, 'agent:triager:main', 'ticket:' || n,
       json_object('summary', 'Closes ticket ' || n, 'before', json('{{"status": "open", "version": 1}}'),
                   'after', json('{{"status": "closed", "version": 2}}')), 'mark', at,
       iif(n > :stored - 10, '{ago(1 / 24)}', strftime('%Y-%m-%dT%H:%M:00.000Z', at, '+3 days')),
       decision, iif(decision IS NULL, NULL, at), iif(decision IS NULL, NULL, 'Ana'),
       iif(decision = 'approved', at, NULL), ended, iif(ended IS NULL, NULL, at)
FROM said
"""  # noqa: S608 (constant text)


def stored(path: Path, migrated: Path, *, stored: int, step: int, stale: int, title: str = "x") -> Path:
    shutil.copy(migrated, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(TICKETS, {"stored": stored, "step": step, "stale": stale, "at": YESTERDAY, "title": title})
    return path


def asked(path: Path, approvals: int) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(APPROVALS, {"stored": approvals})
    return path
