"""The named gaps of the protocol: each follows one durable write. A no-op, unless a test stops the process there."""

from collections.abc import Callable
from enum import StrEnum


class Step(StrEnum):
    INTENDED = "intended"  # [I] the ledger row and the alarm
    ASKED = "asked"  # [A] the approval row: people can see it
    RECORDED = "recorded"  # [I] the ledger knows that it was asked
    WOKEN = "woken"  # an answer is there, and nothing has been done about it
    CONSUMED = "consumed"  # [A] the approval is spent
    DISPATCHED = "dispatched"  # [A] the effect happened, or was refused
    ENDED = "ended"  # [A] an end was written on the approval row
    TOLD = "told"  # the hook has run, its state is not written yet
    SETTLED = "settled"  # [I] the hook's state, and the ledger row is gone


_hook: list[Callable[[Step], None]] = []


def reached(step: Step) -> None:
    for hook in _hook:
        hook(step)


def on_reached(hook: Callable[[Step], None]) -> None:
    """Call `hook` at every step from now on, in this process."""
    _hook.append(hook)
