"""Tell a story over and over, kill its process at one step after another, and look at the books each time."""

import os
import random
import shutil
import sqlite3
from datetime import datetime
from pathlib import Path

from app.runtime.instants import utc_now
from app.runtime.steps import Step
from tests.acceptance import kill_books, kill_cold, kill_stories
from tests.acceptance.kill_books import Journal
from tests.acceptance.kill_life import Deadly, Installation, Life, later
from tests.acceptance.kill_stories import LOSE_LEDGER, Story
from tests.acceptance.kill_tally import AT_RANDOM, FROM_COLD, Told
from tests.acceptance.server import furnish
from tests.support import NOW

SEED = os.environ.get("TRIAGER_KILL_SEED", "1")
KILLS_A_STORY = 5  # at random
QUIET_S = (3632, 61)  # the longest time between two looks, and time for what the sweep meanwhile withdrew


class Kills:
    """Stories on one installation, in the folder `home`."""

    def __init__(self, home: Path, migrated: Path) -> None:
        self._home, self._migrated = home, migrated
        furnish(home, migrated, 1)
        self._installation = Installation(home)
        self._installation.warm_up(("sweep", "approve 0", "sweep-eu", "reject 0", "edit 1", "wait 3600", "wait 31"))

    def at_every_step(self, story: Story) -> Told:
        """Kill a process at each step of the story."""
        start = self._given(story)
        kept = self._home.with_name(f"{self._home.name}-kept")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self._home, kept)
        whole = self._installation.live(start, story.acts, traced=True)
        told = Told(story.place, whole.trail, broken=self._rest(whole, Journal(), lost=bool(story.lost)))
        for number, step in enumerate(whole.steps, 1):
            shutil.rmtree(self._home)
            shutil.copytree(kept, self._home)
            life, journal = self._installation.live(start, story.acts, _at(number)), Journal()
            assert life.killed, f"{step} was not reached the second time"
            told.kills.append(step)
            found = _at_death(self._home, life, journal, ledger_lost=story.lost == LOSE_LEDGER)
            found += self._rest(life, journal, lost=bool(story.lost))
            told.broken += [f"killed at step {number}, {step}, {one}" for one in found]
        return told

    def at_random(self, kills: int, chapter: str) -> Told:
        """Stories of several kills each, until there were so many."""
        told = Told(AT_RANDOM)
        for number in range(10 * kills):
            if len(told.kills) == kills:
                break
            dice = random.Random(f"{SEED}/{chapter}/{number}")  # noqa: S311
            found = self._random_story(dice, min(KILLS_A_STORY, kills - len(told.kills)), told.kills)
            told.broken += [f"seed {SEED}, story {chapter}/{number}, {one}" for one in found]
        return told

    def _random_story(self, dice: random.Random, kills: int, killed: list[str]) -> list[str]:
        furnish(self._home, self._migrated, dice.randint(2, 3))
        acts, journal, broken = kill_stories.script(dice), Journal(), list[str]()
        life, begun = Life(), 0
        for _ in range(kills):
            now = later(life.now, kill_stories.down_s(dice))
            life = self._installation.live(now, acts[begun:], _at(dice.randint(1, 24)))
            if not life.killed:
                return broken + self._rest(life, journal)
            killed.append(life.steps[-1])
            begun += life.done + dice.randint(0, 1)  # whoever was cut off tries again, or does not
            broken += _at_death(self._home, life, journal)
        return broken + self._rest(self._installation.live(life.now, acts[begun:]), journal)

    def from_cold(self, number: int) -> Told:
        """As at random, but every process starts from nothing, on the real clock."""
        furnish(self._home, self._migrated, 3)
        told, journal, dice = Told(FROM_COLD), Journal(), random.Random(f"{SEED}/cold/{number}")  # noqa: S311
        for _ in range(KILLS_A_STORY):
            life = Life(kill_cold.live(self._home, kill_stories.posts(dice), dice.randint(1, 24)))
            told.kills.append(life.steps[-1])
            told.broken += _at_death(self._home, life, journal)
        told.broken += self._rest(Life(now=utc_now()), journal)
        return told

    def _given(self, story: Story) -> datetime:
        furnish(self._home, self._migrated, story.tickets)
        life = Life()
        if story.given:
            deadly: Deadly | None = (lambda _, step: step == story.dies_at) if story.dies_at else None
            life = self._installation.live(NOW, story.given, deadly)
            assert life.killed == bool(deadly), f"{story.name}: {life}"
        if story.lost:
            for path in (self._home / "agents").glob("*/*.sqlite"):
                with sqlite3.connect(path) as connection:
                    connection.execute(story.lost)
                connection.close()
        return later(life.now, story.down_s)

    def _rest(self, life: Life, journal: Journal, *, lost: bool = False) -> list[str]:
        """Start once more, and look at the books when nothing is due any more."""
        waits = QUIET_S * 2 if lost else QUIET_S  # what a loss undid, the next sweep puts right
        life = self._installation.live(life.now, ("resume", *(f"wait {seconds}" for seconds in waits)))
        books = kill_books.read(self._home)
        found = [*kill_books.at_any_moment(books, armed=True), *kill_books.at_rest(books, life.now)]
        found += [*journal.changed(books), *journal.without_trace(books)]
        return [f"in the end: {one}" for one in found]


def _at_death(folder: Path, life: Life, journal: Journal, *, ledger_lost: bool = False) -> list[str]:
    books = kill_books.read(folder)
    found = [*kill_books.at_any_moment(books, armed=_armed(life.steps)), *journal.changed(books)]
    return [f"at death: {one}" for one in found if not (ledger_lost and "nothing waits" in one)]


def _at(number: int) -> Deadly:
    return lambda count, _: count == number


def _armed(steps: list[str]) -> bool:
    """Rows that are looked at earlier than before are armed for when the turn ends; a start wakes for them anyway."""
    since = steps[::-1]
    return Step.ARMED in since and Step.POSTPONED not in since[: since.index(Step.ARMED)]
