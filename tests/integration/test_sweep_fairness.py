"""In a queue that people answer, everybody has a turn: within how many sweeps, and nobody twice before others once."""

import json
import random
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from app.agents.sweep_view import PAGE, PAGES_MAX
from app.runtime.instants import to_text
from config.triage import POLICY
from db.schema import LabelRow, TicketRow
from tests.support_host import private
from tests.support_sweep import asked, bulk, kept_verdicts
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

CAP, READ_MAX = POLICY["max_asks_per_sweep"], PAGE * PAGES_MAX
NOT_CONSIDERED = ("later", "waiting", "withdraw")


async def a_queue(world: World, dice: random.Random, stale: int, askable: int) -> set[int]:
    """So many stale tickets, many of them of one instant; so many of them may be asked about: these are returned."""
    await bulk(world, [dice.choice([30.0, 40.0, dice.uniform(8, 300)]) for _ in range(stale)])
    ids = await world.system.db.read(lambda s: list(s.scalars(select(TicketRow.id))))
    chosen = set(dice.sample(ids, askable))
    spared = [number for number in ids if number not in chosen]
    unanswered, labelled = spared[::2], spared[1::2]
    await world.system.db.write(
        lambda s: (
            s.execute(update(TicketRow).where(TicketRow.id.in_(unanswered)).values(last_speaker="requester")) and None
        )
    )
    await world.system.db.write(
        lambda s: s.add_all(LabelRow(ticket_id=number, label="keep-open") for number in labelled)
    )
    return chosen


async def in_the_middle_of_a_pass(world: World, dice: random.Random, stale: int) -> None:
    """As if a sweep before had come as far as a ticket anywhere."""
    query = select(TicketRow.last_activity_at, TicketRow.id).order_by(TicketRow.last_activity_at, TicketRow.id)
    places = await world.system.db.read(lambda s: [f"{at}_{number}" for at, number in s.execute(query)])
    come = dice.randint(1, stale)
    sums = dict.fromkeys(("open", "stale", "asked", "closed", "refused", "deferred"), 0)
    progress = {"sweeps": 1, "visited": come, "next": places[come - 1]}
    report = json.dumps({"at": to_text(world.clock.at), **sums, "progress": progress})
    private(
        *(world.system.host, "triager", "main"),
        "INSERT INTO runs (started_at, taken, finished_at, report) VALUES ('', '[]', ?, ?)",
        *(to_text(world.clock.at), report),
    )


async def answer_all(world: World, dice: random.Random) -> None:
    for request in await world.pending():
        await (world.approve(request) if dice.random() < 0.5 else world.reject(request))


def passes(world: World) -> list[list[int]]:
    """Of each pass that has begun since, the tickets it considered, in order."""
    rows = private(world.system.host, "triager", "main", "SELECT report FROM runs ORDER BY id")
    reports: list[dict[str, Any]] = [json.loads(row["report"]) for row in rows][-len(kept_verdicts(world)) :]
    found: list[list[int]] = [[]]
    for report, verdicts in zip(reports, kept_verdicts(world), strict=True):
        if report["progress"]["sweeps"] == 1:
            found.append([])
        found[-1] += [one["ticket_id"] for one in verdicts if one["verdict"] not in NOT_CONSIDERED]
    return [one for one in found if one]


@pytest.mark.parametrize("seed", range(6))
async def test_every_stale_ticket_that_may_be_asked_about_is_within_so_many_sweeps(
    tmp_path: Path, migrated: Path, seed: int
) -> None:
    dice = random.Random(seed)  # noqa: S311
    stale = dice.choice([dice.randint(20, 120), dice.randint(480, 520), dice.randint(900, 1300)])
    askable = dice.randint(1, 45) if stale > 45 else dice.randint(1, stale)
    async with a_world(tmp_path, migrated) as world:
        expected = await a_queue(world, dice, stale, askable)
        if seed % 3:
            await in_the_middle_of_a_pass(world, dice, stale)
        for _ in range(ceil(stale / READ_MAX) + ceil(askable / CAP)):
            world.clock.advance(hours=1)
            assert (await world.sweep())["error"] is None
            await answer_all(world, dice)
        assert set(await asked(world)) == expected, (stale, askable)
        assert len(await asked(world)) == askable


async def test_a_pass_considers_each_ticket_once_and_none_twice_before_all_once(tmp_path: Path, migrated: Path) -> None:
    dice = random.Random(0)  # noqa: S311
    async with a_world(tmp_path, migrated) as world:
        await a_queue(world, dice, 610, 33)
        query = select(TicketRow.id).where(TicketRow.status == "open")
        there = [set(await world.system.db.read(lambda s: list(s.scalars(query))))]
        while len(passes(world)) < 3:
            world.clock.advance(hours=1)
            await world.sweep()
            await answer_all(world, dice)
            if (await world.report())["progress"]["next"] is None:
                there.append(set(await world.system.db.read(lambda s: list(s.scalars(query)))))
        for considered, open_before in zip(passes(world)[:2], there, strict=False):
            assert len(set(considered)) == len(considered)
            assert set(considered) == open_before


async def test_a_ticket_that_becomes_stale_during_a_pass_has_its_turn_in_it(tmp_path: Path, migrated: Path) -> None:
    """Newly quiet tickets come last in the order, so no pass leaves them out or begins anew for them."""
    async with a_world(tmp_path, migrated) as world:
        await bulk(world, [100.0 - number for number in range(25)])
        await bulk(world, [6.95])
        sweeps = []
        for _ in range(3):
            world.clock.advance(hours=1)
            await world.sweep()
            sweeps.append((await world.report())["progress"]["visited"])
        assert sweeps == [10, 20, 26]
        assert sorted(await asked(world)) == list(range(1, 27))


async def test_the_oldest_ticket_that_a_pass_has_not_visited_is_told(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        await bulk(world, [100.0 - number for number in range(35)])
        rows = await world.system.db.read(
            lambda s: list(s.scalars(select(TicketRow.last_activity_at).order_by(TicketRow.id)))
        )
        told = []
        for _ in range(4):
            world.clock.advance(hours=1)
            await world.sweep()
            progress = (await world.report())["progress"]
            told.append((progress["unvisited_since"], progress["sweeps_for_all"]))
        assert told == [(rows[10], 4), (rows[20], 4), (rows[30], 4), (None, 4)]
