"""The named gaps of the protocol: each follows one write, and each write has one. A no-op, unless a test stops there.

[I] is the instance's database, [A] the app's, [H] the host's alarm index. Within a transaction (the settlement) a gap
comes before the commit.
"""

from collections.abc import Callable
from enum import StrEnum


class Step(StrEnum):
    ARMED = "armed"  # [H] when the instance wakes at the latest
    SCHEDULED = "scheduled"  # [I] when a job runs next
    RUN = "run"  # [I] the run of a sweep: that it began, what it takes, its report
    WITHDRAWN = "withdrawn"  # [A] questions that have become moot
    INTENDED = "intended"  # [I] the ledger row; its alarm came first
    ASKED = "asked"  # [A] the approval row: people can see it
    ADOPTED = "adopted"  # [I] the ledger row has the id of a question that was there already
    WOKEN = "woken"  # an answer is there, and nothing has been done about it
    CONSUMED = "consumed"  # [A] the approval is spent
    DISPATCHED = "dispatched"  # [A] the effect happened, or was refused
    ENDED = "ended"  # [A] an end was written on the approval row
    FENCED = "fenced"  # [A] a tombstone, under the id of a question that was never put
    POSTPONED = "postponed"  # [I] when the ledger looks again
    TOLD = "told"  # the hook has run, its state is not written yet
    SAVED = "saved"  # [I] the agent's state
    DROPPED = "dropped"  # [I] the ledger row is gone
    SETTLED = "settled"  # [I] the hook's state and the row's end are committed


_hook: list[Callable[[Step], None]] = []


def reached(step: Step) -> None:
    for hook in _hook:
        hook(step)


def on_reached(hook: Callable[[Step], None]) -> None:
    """Call `hook` at every step from now on, in this process."""
    _hook.append(hook)
