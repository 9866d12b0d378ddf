"""What the kills have come to: a line for the end of the tests, and the table in README."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.acceptance.kill_stories import STORIES

FORKED, COLD = 180, 20  # kills at random: of forked processes, and of such as started from a cold interpreter
AT_RANDOM, FROM_COLD = "anywhere, at random", "anywhere, from a cold start"


@dataclass
class Told:
    """A story's outcome. `kills`: the steps where a process died. `trail`: writes, steps and acts of one that lived."""

    place: str
    trail: list[str] = field(default_factory=list)
    kills: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


@dataclass
class Tally:
    kills: Counter[str] = field(default_factory=Counter)  # by place
    steps: Counter[str] = field(default_factory=Counter)
    stories: int = 0
    violations: int = 0

    def add(self, told: Told) -> None:
        self.kills[told.place] += len(told.kills)
        self.steps.update(told.kills)
        self.stories += 1
        self.violations += len(told.broken)

    def report(self) -> Iterator[str]:
        yield from (f"{place}: {kills}" for place, kills in self.kills.items())
        yield "at steps: " + ", ".join(f"{step} {count}" for step, count in self.steps.most_common())
        yield f"{self.kills.total()} kills, {self.stories} stories, violations {self.violations}"


TALLY = Tally()


def table() -> str:
    """What README shows: the numbers of kills are the harness's, and its tests hold the zeros."""
    kills = Counter[str]()
    for story in STORIES:
        kills[story.place] += story.kills
    kills |= Counter({AT_RANDOM: FORKED, FROM_COLD: COLD})
    lines = ["| killed during | kills | closed twice | answers lost |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {place} | {count} | 0 | 0 |" for place, count in kills.items()]
    return "\n".join([*lines, f"| **in all** | **{kills.total()}** | **0** | **0** |"])
