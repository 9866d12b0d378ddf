"""An import that learns nobody has answered: what was asked is taken back, and a yes given before closes nothing."""

import json
from io import BufferedReader, BytesIO
from pathlib import Path

import pytest

from app.importer.file import read
from app.importer.keep import ForeignTicket, keep
from tests.support import OPERATOR, ago
from tests.support_sweep import swept, words
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

CREATED = ago(20)
AGENTS_WORD = {"author": "agent", "name": "Bot", "body": "Thank you.", "created_at": ago(19)}
NOTE = {"author": "operator", "name": "Al", "body": "Who?", "created_at": ago(19), "public": False}


def csv(comments: str) -> bytes:
    return f"external_id,title,created_at,comments\na#1,Printer,{CREATED},{comments}\n".encode()


def json_line(**more: object) -> bytes:
    return json.dumps({"external_id": "a#1", "title": "Printer", "created_at": CREATED, **more}).encode()


async def bring(world: World, content: bytes) -> None:
    rows = list(read(BufferedReader(BytesIO(content)), world.clock.at))
    good = [row for row in rows if isinstance(row, ForeignTicket)]
    assert len(good) == len(rows) == 1
    await world.system.db.write(keep, good, by=OPERATOR, now=world.clock.at)


UNKNOWN = [csv(""), json_line()]
NOBODY = [csv("0"), json_line(comments=[]), json_line(comments=[AGENTS_WORD]), json_line(comments=[NOTE])]
pairs = pytest.mark.parametrize(
    ("before", "after"),
    [(UNKNOWN[0], NOBODY[0]), *((UNKNOWN[1], after) for after in NOBODY[1:]), (csv("3"), NOBODY[0])],
    ids=["a count of 0", "no comments", "an agent's comment", "an internal note", "a count gone back to 0"],
)


@pairs
async def test_a_ticket_nobody_answered_is_asked_about_no_more_and_waits_for_us(
    tmp_path: Path, migrated: Path, before: bytes, after: bytes
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await bring(world, before)
        assert await swept(world) == [1]
        [request] = await world.pending()
        await bring(world, after)
        await swept(world)
        assert words(world) == {1: "withdraw"}
        assert (await world.approval(request)).ended == "cancelled"
        await world.run_due(minutes=1)
        assert await swept(world) == []
        assert words(world) == {1: "waiting on us"}
        assert [one["ticket_id"] for one in (await world.report())["waiting_on_us"]] == [1]


@pairs
async def test_a_yes_from_before_it_was_known_closes_nothing(
    tmp_path: Path, migrated: Path, before: bytes, after: bytes
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await bring(world, before)
        await swept(world)
        [request] = await world.pending()
        await world.approve(request, wake=False)
        await bring(world, after)
        await world.run_due(minutes=10)
        assert (await world.ticket(1)).status == "open"
        assert (await world.approval(request)).ended == "cancelled"


async def test_a_file_that_says_the_same_again_changes_no_version(tmp_path: Path, migrated: Path) -> None:
    async with a_world(tmp_path, migrated) as world:
        for content in (UNKNOWN[0], NOBODY[0], NOBODY[0], UNKNOWN[0]):
            await bring(world, content)
        ticket = await world.ticket(1)
        assert (ticket.version, ticket.last_speaker) == (2, "requester")
