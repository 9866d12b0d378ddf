"""`kill -9` after every write of the protocol, and 200 times at random: no effect twice, no answer lost.

The kills at random follow from TRIAGER_KILL_SEED, which a failure names.
"""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from app.runtime.steps import Step
from config.settings import ROOT
from tests.acceptance.kill_harness import KILLS_A_STORY, Kills
from tests.acceptance.kill_stories import STORIES
from tests.acceptance.kill_tally import COLD, FORKED, table
from tests.acceptance.kill_tellers import Tell, Tellers

CHAPTERS = "abcdef"
AT_RANDOM: dict[str, Tell] = {
    **{f"cold {number}": partial(Kills.from_cold, number=number) for number in range(COLD // KILLS_A_STORY)},
    **{f"forked {one}": partial(Kills.at_random, kills=FORKED // len(CHAPTERS), chapter=one) for one in CHAPTERS},
}
STEP_BY_STEP: dict[str, Tell] = {story.name: partial(Kills.at_every_step, story=story) for story in STORIES}


@pytest.fixture(scope="module")
def tellers(
    tmp_path_factory: pytest.TempPathFactory, migrated: Path, request: pytest.FixtureRequest
) -> Iterator[Tellers]:
    """They tell what the tests of this run want to hear."""
    tests = request.session.items
    wanted = {test.callspec.params.get("story") for test in tests if hasattr(test, "callspec")}
    if any(test.name == "test_every_step_is_reached" for test in tests):
        wanted |= set(STEP_BY_STEP)
    stories = {name: tell for name, tell in (AT_RANDOM | STEP_BY_STEP).items() if name in wanted}
    tellers = Tellers(tmp_path_factory.mktemp("kills"), migrated, stories)
    yield tellers
    tellers.close()


@pytest.mark.parametrize("story", STEP_BY_STEP)
def test_killed_at_every_step_the_product(tellers: Tellers, story: str) -> None:
    told = tellers.told(story)
    assert told.broken == []
    assert ("write", "write") not in pairwise(told.trail), "two writes without a step between them"
    [steps] = [one.kills for one in STORIES if one.name == story]
    assert len(told.kills) == steps, "the story has another number of steps: write it into kill_stories.py and README"


@pytest.mark.parametrize("story", AT_RANDOM)
def test_killed_at_random_its_books_stay_right(tellers: Tellers, story: str) -> None:
    told = tellers.told(story)
    assert told.broken == []
    assert len(told.kills) == (KILLS_A_STORY if story.startswith("cold") else FORKED // len(CHAPTERS))


def test_every_step_is_reached(tellers: Tellers) -> None:
    assert {step for name in STEP_BY_STEP for step in tellers.told(name).kills} == set(Step)


def test_readme_shows_how_often_the_product_is_killed() -> None:
    shown = (ROOT / "README.md").read_text().partition("<!-- kills -->\n")[2].partition("\n<!-- /kills -->")[0]
    assert shown == table(), f"write this between README's markers:\n{table()}"
