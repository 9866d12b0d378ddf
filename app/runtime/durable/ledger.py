"""The calls of one instance that wait for a person. The ledger only delivers: the verdict is in the approval row.

Arguments are sealed, bound to their row. A row leaves only after its verdict was read, or its end was written.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.runtime.durable.sealing import Cipher
from app.runtime.durable.storage import Storage
from app.runtime.errors import Unreadable
from app.runtime.instants import after, from_text, to_text
from app.runtime.steps import Step, reached
from app.runtime.tools.gate import ParkedCall

CHECK_S, CHECK_MAX_S = 30.0, 3600.0  # the first look after asking, and the longest time between two
GRACE_S = 5.0  # a look just after a deadline finds it lapsed


@dataclass(frozen=True, slots=True)
class LedgerRow:
    request_id: str
    tool: str
    subject: str
    fingerprint: str
    arguments: str  # sealed
    checks: int


@dataclass(frozen=True, slots=True)
class Resealed:
    """What a rotation of keys found: how many rows it wrote anew or left, and the request ids it could not read."""

    resealed: int = 0
    current: int = 0
    unreadable: tuple[str, ...] = ()


class Ledger:
    """`owner` is the instance's principal key: a row copied into another instance's ledger does not open there.

    `arm(at)` makes sure the instance wakes by then. It comes before the row: a crash costs a needless wake.
    """

    def __init__(self, storage: Storage, cipher: Cipher, owner: str, arm: Callable[[str], None]) -> None:
        self._storage, self._cipher, self._owner, self._arm = storage, cipher, owner, arm

    # What the gate needs: `tools.gate.Parking`

    def waiting(self, tool: str, fingerprint: str) -> str | None:
        query = "SELECT request_id FROM ledger WHERE tool = ? AND fingerprint = ?"
        rows = self._storage.sql(query, tool, fingerprint)
        return str(rows[0]["request_id"]) if rows else None

    async def intend(self, call: ParkedCall, now: datetime) -> None:
        sealed = await self._seal(call.request_id, call.tool, call.arguments or {})
        check_at = after(now, CHECK_S)
        self._arm(check_at)
        self._storage.sql(
            "INSERT INTO ledger (request_id, tool, subject, fingerprint, arguments, next_check_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            *(call.request_id, call.tool, call.subject, call.fingerprint, sealed, check_at),
        )
        reached(Step.INTENDED)

    async def adopt(self, request_id: str, adopted_id: str) -> None:
        [row] = self.rows([request_id])
        sealed = await self._seal(adopted_id, row.tool, await self.open(row))
        self._storage.sql(
            "UPDATE OR REPLACE ledger SET request_id = ?, arguments = ?, checks = 0 WHERE request_id = ?",
            *(adopted_id, sealed, request_id),
        )
        reached(Step.ADOPTED)

    def forget(self, request_id: str) -> None:
        self._storage.sql("DELETE FROM ledger WHERE request_id = ?", request_id)
        reached(Step.DROPPED)

    # What the delivery needs

    def rows(self, ids: list[str]) -> list[LedgerRow]:
        query = (
            "SELECT request_id, tool, subject, fingerprint, arguments, checks FROM ledger"
            " WHERE request_id IN (SELECT value FROM json_each(?)) ORDER BY rowid"
        )
        return [LedgerRow(**row) for row in self._storage.sql(query, json.dumps(ids))]

    def ids(self) -> list[str]:
        return [row["request_id"] for row in self._storage.sql("SELECT request_id FROM ledger ORDER BY rowid")]

    def due(self, now: datetime) -> list[str]:
        """To be looked at now: also what a clock that was set back has left further off than any look is put."""
        query = "SELECT request_id FROM ledger WHERE next_check_at <= ? OR next_check_at > ?"
        rows = self._storage.sql(query, to_text(now), after(now, CHECK_MAX_S))
        return [row["request_id"] for row in rows]

    def check_again(self, row: LedgerRow, now: datetime, deadline: str | None) -> None:
        """Nothing to deliver yet: look again in 30 s, 60 s … an hour, and just after the deadline."""
        seconds = next_check_s(row.checks, (from_text(deadline) - now).total_seconds() if deadline else None)
        self._storage.sql(
            "UPDATE ledger SET checks = ?, next_check_at = ? WHERE request_id = ?",
            *(row.checks + 1, after(now, seconds), row.request_id),
        )
        reached(Step.POSTPONED)

    def check_soon(self, ids: list[str], now: datetime, seconds: float) -> None:
        self._storage.sql(
            "UPDATE ledger SET next_check_at = ? WHERE request_id IN (SELECT value FROM json_each(?))",
            *(after(now, seconds), json.dumps(ids)),
        )
        reached(Step.POSTPONED)

    def next_at(self) -> str | None:
        earliest: str | None = self._storage.sql("SELECT min(next_check_at) AS at FROM ledger")[0]["at"]
        return earliest

    async def open(self, row: LedgerRow) -> dict[str, Any]:
        """The arguments. Raises Unreadable."""
        arguments: dict[str, Any] = json.loads(
            await self._cipher.open(row.arguments, self._context(row.request_id, row.tool))
        )
        return arguments

    async def parked(self) -> list[ParkedCall]:
        """Every waiting call; without its arguments where no key opens them."""
        return [await self._parked(row) for row in self.rows(self.ids())]

    async def _parked(self, row: LedgerRow) -> ParkedCall:
        arguments = None
        with suppress(Unreadable):
            arguments = await self.open(row)
        return ParkedCall(row.request_id, row.tool, row.subject, row.fingerprint, arguments)

    async def reseal(self) -> Resealed:
        """Seal every row under the first key. A row that no key opens stays as it is."""
        current, unreadable = 0, []
        rows = self.rows(self.ids())
        for row in rows:
            try:
                arguments = await self.open(row)
            except Unreadable:
                unreadable.append(row.request_id)
                continue
            if self._cipher.is_current(row.arguments):
                current += 1
                continue
            sealed = await self._seal(row.request_id, row.tool, arguments)
            self._storage.sql("UPDATE ledger SET arguments = ? WHERE request_id = ?", sealed, row.request_id)
        return Resealed(len(rows) - current - len(unreadable), current, tuple(unreadable))

    async def _seal(self, request_id: str, tool: str, arguments: dict[str, Any]) -> str:
        return await self._cipher.seal(json.dumps(arguments).encode(), self._context(request_id, tool))

    def _context(self, request_id: str, tool: str) -> str:
        return json.dumps([self._owner, request_id, tool])


def next_check_s(checks: int, left_s: float | None) -> float:
    """Seconds to the next look, at least 1. `left_s` is the time to the deadline, if there is one ahead."""
    step: float = min(CHECK_S * 2 ** min(checks, 20), CHECK_MAX_S)
    return max(1.0, step if left_s is None else min(step, left_s + GRACE_S))
