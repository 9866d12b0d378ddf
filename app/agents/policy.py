"""The triager's policy, as config/triage.py states it."""

from typing import Annotated

from msgspec import Meta, Struct

from app.domain import Priority

Most = Annotated[int, Meta(ge=1, le=21)]  # 5 pages, 2 withdrawals and 2 statements an ask fit one invocation of 50


class Policy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`exempt_…`: such a ticket is never asked about. `spare_unanswered`: nor one whose requester spoke last.

    A ticket may also be protected until a date, by whoever edits it.
    """

    stale_after_days: Annotated[int, Meta(ge=1, le=3_650)]
    exempt_labels: list[str]
    exempt_assignees: list[str]
    exempt_priorities: list[Priority]
    spare_unanswered: bool
    max_asks_per_sweep: Most
    cool_down_hours: Annotated[int, Meta(ge=0, le=8_760)]
