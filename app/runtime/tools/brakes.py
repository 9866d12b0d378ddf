"""Brakes: who does nothing until a person lets go. A mirror of the app's table: a plain call costs no statement.

The mirror may be a minute old. What protects a ticket is that the statements that ask, answer and spend read the table.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from app.runtime.principal import agent_of

ALL = "*"  # in place of an agent's name: every caller of tools


@dataclass(frozen=True, slots=True)
class Brake:
    agent: str  # or ALL
    by: str
    at: str
    note: str | None

    @property
    def release(self) -> str:
        """What lets it go."""
        return "triager resume" if self.agent == ALL else f"triager resume {self.agent}"

    def __str__(self) -> str:
        who = "Every agent" if self.agent == ALL else f"The agent {self.agent}"
        note = f" ({self.note})" if self.note else ""
        return f"{who} is halted by {self.by} since {self.at}{note}."


class Brakes:
    def __init__(self, brakes: Iterable[Brake] = ()) -> None:
        self.replace(brakes)

    def replace(self, brakes: Iterable[Brake]) -> None:
        self._on = {brake.agent: brake for brake in brakes}

    @property
    def agents(self) -> frozenset[str]:
        """The names of the halted agents, or ALL among them."""
        return frozenset(self._on)

    def halted(self, principal_key: str) -> Brake | None:
        """The brake that holds this caller, if one does."""
        agent = agent_of(principal_key)
        return self._on.get(ALL) or (self._on.get(agent[0]) if agent else None)
