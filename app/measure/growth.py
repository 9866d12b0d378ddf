"""Do costs grow with what is stored? Lists, the inbox, a sweep and a wake, over ever larger installations."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from app.measure import routes, story
from app.measure.furnished import STALE_DAYS, Clock, Furnished
from app.measure.invocations import furnished
from app.measure.probe import Cost
from app.runtime.instants import to_text

SIZES = (10**3, 10**4, 10**5, 10**6)  # tickets; a tenth as many approvals
ROUTES = ("tickets.index", "console.index")
STORY = ("sweep", "wake, 1 approved")
NAMES = {"tickets.index": "GET /tickets", "console.index": "inbox"}
# Closed tickets, and what became of a tenth of them. A title in ten has the word that nobody searches for.
TICKETS = """
WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :count)
INSERT INTO tickets (title, status, created_at, updated_at, last_activity_at, last_speaker, closed_at, closed_by)
SELECT 'Printer ' || n, 'closed', :at, :at, :at, 'operator', :at, 'Ops On-Call' FROM n
"""
APPROVALS = """
WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :count)
INSERT INTO approvals (id, tool, input, fingerprint, principal_key, subject, preview, requested_at, expires_at,
  decision, decided_at, decided_by, use_by, claim_id, consumed_at, ended, ended_at)
SELECT 'stored' || n, 'tickets_close', '{}', 'stored' || n, 'agent:triager:main', 'ticket:' || n,
  '{"summary": "Closes it.", "before": {}, "after": {}}', :at, :at,
  'approved', :at, 'Ops On-Call', :at, 'stored' || n, :at, 'used', :at FROM n
"""


class Grown(Struct, frozen=True):
    """What one invocation takes where `tickets` are stored."""

    tickets: int
    name: str
    statements: int
    cpu_ms: float


async def measure(tell: Callable[[str], None], sizes: tuple[int, ...] = SIZES, repeat: int = 9) -> list[Grown]:
    found = []
    for size in sizes:
        tell(f"{size} tickets, {size // 10} approvals")
        async with furnished() as (house, clock):
            _store(house.system.settings.database, size, to_text(clock.at - timedelta(days=STALE_DAYS)))
            costs = [cost async for cost in _costs(house, clock, repeat)]
        found += [Grown(size, NAMES.get(one.name, one.name), one.statements, one.cpu_ms) for one in costs]
    return found


async def _costs(house: Furnished, clock: Clock, repeat: int) -> AsyncIterator[Cost]:
    for one in routes.routes(house.system):
        if one.name in ROUTES:
            yield await routes.measure(house, clock, one, repeat)
    async for cost in story.measure(house, clock, repeat, STORY):
        yield cost


def _store(database: Path, size: int, at: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(TICKETS, {"count": size, "at": at})
        connection.execute(APPROVALS, {"count": size // 10, "at": at})
        connection.execute("ANALYZE")
