"""How often people said yes and no, how often nobody said anything, and how long their answers took."""

from datetime import datetime
from statistics import median
from typing import Any

from msgspec import Struct, structs

WAITS_KEPT = 100


class Answers(Struct, frozen=True):
    """`waits_s`: the latest, in seconds from question to answer."""

    approved: int = 0
    rejected: int = 0
    expired: int = 0
    waits_s: tuple[float, ...] = ()

    def and_one(self, status: str, asked_at: datetime | None, decided_at: datetime | None) -> "Answers":
        """With one more question that has an end. One that was taken back before anybody answered does not count."""
        if asked_at and decided_at:
            said = "rejected" if status == "rejected" else "approved"
            waits = (*self.waits_s, (decided_at - asked_at).total_seconds())[-WAITS_KEPT:]
            return structs.replace(self, waits_s=waits, **{said: getattr(self, said) + 1})
        return structs.replace(self, expired=self.expired + (status == "expired"))

    def evidence(self) -> dict[str, Any]:
        answered = self.approved + self.rejected
        return {
            "approved": self.approved,
            "rejected": self.rejected,
            "expired": self.expired,
            "approval_rate": round(self.approved / answered, 3) if answered else None,
            "median_wait_s": round(median(self.waits_s), 1) if self.waits_s else None,
        }
