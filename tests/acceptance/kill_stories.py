"""What is killed at every step: a story each, of a sweep, of carrying out an answer, of what may come between."""

import random
from dataclasses import dataclass

from tests.acceptance.kill_life import Act


@dataclass(frozen=True)
class Story:
    """`given` has happened before, in a process that ended in order; the process that lives through `acts` is killed.

    `kills` is the number of steps there are in it. `dies_at` is where the process before was killed, `lost` what was
    done to its private database since, `down_s` how long nothing ran.
    """

    name: str
    place: str  # its row in the table
    acts: tuple[Act, ...]
    kills: int
    given: tuple[Act, ...] = ()
    dies_at: str | None = None
    lost: str | None = None
    down_s: int = 0
    tickets: int = 1


ASKING, YES, NO = "a sweep that asks", "a yes", "a no"
SILENCE, MOVED, ODD = "silence until the window ends", "a ticket that changed", "a crash or a loss before"
ALARM, HOURLY, WINDOW = "wait 31", "wait 3600", "wait 259201"
LOSE_LEDGER = "DELETE FROM ledger"
FORGET_NO = "UPDATE state SET value = json_set(value, '$.declined', json('{}'))"

STORIES = (
    Story("asks when it is called", ASKING, ("sweep",), 11, tickets=2),
    Story("asks on its schedule", ASKING, (HOURLY,), 12, tickets=2),
    Story("delivers a yes by wake", YES, ("approve 0",), 10, ("sweep",)),
    Story("delivers a yes by alarm", YES, ("approve-unheard 0", ALARM), 9, ("sweep",)),
    Story("delivers a yes by start", YES, (), 9, ("sweep", "approve-unheard 0")),
    Story("delivers a yes and a no at once", YES, ("both 0", ALARM), 10, ("sweep",)),
    Story(
        "delivers one agent's yes beside another's question",
        YES,
        ("approve 2", ALARM),
        14,
        ("sweep", "sweep-eu"),
        tickets=2,
    ),
    Story("delivers a yes when it is let go", YES, (ALARM, "resume"), 9, ("sweep", "approve-unheard 0", "halt")),
    Story("delivers a no by wake", NO, ("reject 0",), 8, ("sweep",)),
    Story("delivers a no by alarm", NO, ("reject-unheard 0", ALARM), 7, ("sweep",)),
    Story("meets a no it has forgotten", NO, ("sweep",), 11, ("sweep", "reject 0"), lost=FORGET_NO),
    Story("lets an unanswered question expire", SILENCE, (WINDOW,), 12, ("sweep",)),
    Story("lets a yes expire unused", SILENCE, (), 12, ("sweep", "approve-unheard 0"), down_s=90_000),
    Story("cancels a yes by wake", MOVED, ("approve 0",), 11, ("sweep", "edit 1")),
    Story("cancels a yes by alarm", MOVED, ("approve-unheard 0", ALARM), 10, ("sweep", "edit 1")),
    Story("withdraws when it is called", MOVED, ("sweep", ALARM), 13, ("sweep", "edit 1")),
    Story("withdraws on its schedule", MOVED, (HOURLY, ALARM), 14, ("sweep", "edit 1")),
    Story("drops a question that its route refuses", MOVED, ("sweep-beside-an-edit",), 10),
    Story("fences a question that was never put", ODD, (ALARM,), 5, ("sweep",), dies_at="intended"),
    Story("continues a sweep that was cut off", ODD, (HOURLY,), 9, ("sweep",), dies_at="asked", tickets=2),
    Story("finishes a call that was cut off", ODD, (ALARM,), 7, ("sweep", "approve 0"), dies_at="dispatched"),
    Story("adopts a question its ledger has lost", ODD, ("sweep",), 8, ("sweep",), lost=LOSE_LEDGER),
)

VERBS = {
    "sweep": 6,
    "approve 0": 4,
    "approve 1": 4,
    "approve-unheard 0": 3,
    "reject 1": 2,
    "reject-unheard 0": 1,
    "both 0": 2,
    "sweep-eu": 1,
    "halt": 1,
    "resume": 2,
    "edit 1": 2,
    "edit 2": 2,
    "reopen 1": 1,
    ALARM: 5,
    HOURLY: 3,
    WINDOW: 1,
}
DOWN_S = {0: 12, 31: 4, 3600: 3, 90_000: 1}


def script(dice: random.Random) -> tuple[Act, ...]:
    """Ten acts or so, of people and of time."""
    return ("sweep", *dice.choices(list(VERBS), list(VERBS.values()), k=dice.randint(6, 12)))


def down_s(dice: random.Random) -> int:
    return dice.choices(list(DOWN_S), list(DOWN_S.values()))[0]


def posts(dice: random.Random) -> list[tuple[str, int]]:
    """What people do to a process that starts cold."""
    return [("sweep", 0)] + [
        (dice.choice(["sweep", "approve", "approve", "reject", "edit"]), dice.randint(1, 3)) for _ in range(6)
    ]
