"""A person's answer, whichever door it comes through: recorded, then the agent is woken for it."""

from dataclasses import dataclass
from datetime import datetime

from litestar.di import NamedDependency

from app.runtime.durable.host import Host
from app.runtime.principal import Principal
from app.schemas import ApprovalOut
from app.services import approvals
from config.settings import Settings
from db.engine import Database


@dataclass(frozen=True, slots=True)
class Answers:
    """Raises what `services.approvals` raises; then nobody is woken."""

    db: Database
    host: Host
    by: Principal
    now: datetime
    use_ttl_s: float

    async def approve(self, request_id: str, reason: str | None) -> ApprovalOut:
        answered = await self.db.write(
            approvals.approve, request_id, by=self.by, now=self.now, reason=reason or None, use_ttl_s=self.use_ttl_s
        )
        return self._wake(answered)

    async def reject(
        self, request_id: str, reason: str | None, until_at: str | None = None, *, until_window_ends: bool = False
    ) -> ApprovalOut:
        answered = await self.db.write(
            approvals.reject,
            request_id,
            by=self.by,
            now=self.now,
            reason=reason or None,
            until_at=until_at,
            until_window_ends=until_window_ends,
        )
        return self._wake(answered)

    async def ask_again(self, request_id: str) -> ApprovalOut:
        """Nobody is woken: the agent asks at its next sweep, if it still wants to."""
        return await self.db.write(approvals.ask_again, request_id, by=self.by, now=self.now)

    def _wake(self, answered: ApprovalOut) -> ApprovalOut:
        self.host.wake([(answered.principal, answered.id)])
        return answered


def answers(
    db: NamedDependency[Database],
    host: NamedDependency[Host],
    by: NamedDependency[Principal],
    now: NamedDependency[datetime],
    settings: NamedDependency[Settings],
) -> Answers:
    return Answers(db, host, by, now, settings.approval_use_ttl_s)
