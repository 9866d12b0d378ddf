"""A person's answer, whichever door it comes through: recorded, then the agent is woken for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from litestar.di import NamedDependency

from app.runtime.durable.host import Host
from app.runtime.principal import Principal
from app.schemas import ApprovalOut, Decision, Item
from app.services import approvals, undo
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

    async def approve(self, request_id: str, reason: str | None, fingerprint: str | None = None) -> ApprovalOut:
        answered = await self.db.write(
            approvals.approve,
            request_id,
            by=self.by,
            now=self.now,
            reason=reason or None,
            use_ttl_s=self.use_ttl_s,
            fingerprint=fingerprint,
        )
        return self._wake(answered)

    async def reject(
        self,
        request_id: str,
        reason: str | None,
        until_at: str | None = None,
        *,
        until_window_ends: bool = False,
        fingerprint: str | None = None,
    ) -> ApprovalOut:
        answered = await self.db.write(
            approvals.reject,
            request_id,
            by=self.by,
            now=self.now,
            reason=reason or None,
            until_at=until_at,
            until_window_ends=until_window_ends,
            fingerprint=fingerprint,
        )
        return self._wake(answered)

    async def many(
        self,
        decision: Decision,
        requests: Sequence[tuple[str, str]],
        reason: str | None,
        until_at: str | None = None,
        *,
        until_window_ends: bool = False,
    ) -> list[Item]:
        """One answer to requests given as (id, fingerprint), and what became of each."""
        items = await self.db.write(
            approvals.answer_many,
            decision,
            requests,
            by=self.by,
            now=self.now,
            reason=reason or None,
            use_ttl_s=self.use_ttl_s,
            until_at=until_at,
            until_window_ends=until_window_ends,
        )
        self.host.wake([(item.principal, item.id) for item in items if item.ok and item.principal])
        return items

    async def ask_again(self, request_id: str) -> ApprovalOut:
        """Nobody is woken: the agent asks at its next sweep, if it still wants to."""
        return await self.db.write(undo.ask_again, request_id, by=self.by, now=self.now)

    async def undo(self, request_id: str) -> ApprovalOut:
        """Whoever waited for a yes that is taken back hears of that."""
        undone = await self.db.write(undo.undo, request_id, by=self.by, now=self.now)
        return self._wake(undone) if undone.status == "cancelled" else undone

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
