"""The runtime's approval store, over the app's database: each method is one `read` or `write`."""

from datetime import datetime

from app.runtime.tools.approvals import Approval, InTheWay, NewRequest, Rejection, Status
from app.runtime.tools.brakes import Brake
from app.services import approval_gate, brakes
from db.engine import Database


class DatabaseApprovalStore:
    """See `app.runtime.tools.approvals.ApprovalStore`. `ttl_s` is the time people have to answer."""

    def __init__(self, db: Database, ttl_s: float) -> None:
        self._db, self._ttl_s = db, ttl_s

    async def ask(self, request: NewRequest, now: datetime) -> InTheWay | None:
        return await self._db.write(approval_gate.ask, request, now, self._ttl_s)

    async def statuses(self, ids: list[str], now: datetime, principal_key: str | None = None) -> dict[str, Approval]:
        return await self._db.read(approval_gate.statuses, ids, now, principal_key)

    async def own(self, principal_key: str, tool: str, fingerprint: str, now: datetime) -> Approval | None:
        return await self._db.read(approval_gate.own, principal_key, tool, fingerprint, now)

    async def consume(self, request_id: str, claim_id: str, now: datetime) -> bool:
        return await self._db.write(approval_gate.consume, request_id, claim_id, now)

    async def lapse(self, request_id: str, now: datetime) -> bool:
        return await self._db.write(approval_gate.lapse, request_id, now)

    async def end(self, request_id: str, reason: str, now: datetime, ended: Status = "cancelled") -> bool:
        return await self._db.write(approval_gate.end, request_id, reason, now, ended)

    async def fence(self, request_id: str, tool: str, principal_key: str, now: datetime) -> bool:
        return await self._db.write(approval_gate.fence, request_id, tool, principal_key, now)

    async def withdraw(self, ids: list[str], principal_key: str, reason: str, now: datetime) -> list[str]:
        return await self._db.write(approval_gate.withdraw, ids, principal_key, reason, now)

    async def remembered(
        self, principal_key: str, tool: str, subjects: list[str], now: datetime
    ) -> dict[str, Rejection]:
        return await self._db.read(approval_gate.remembered, principal_key, tool, subjects, now)

    async def undelivered(self, now: datetime) -> list[tuple[str, str]]:
        return await self._db.read(approval_gate.undelivered, now)

    async def brakes(self) -> list[Brake]:
        return await self._db.read(brakes.listing)
