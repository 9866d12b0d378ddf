"""An import among everything else: it changes what people were asked about, and comes out of the API as it went in."""

import asyncio
import csv
import json
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from app.cli.tickets import bring_in
from app.domain import Speaker
from app.importer.keep import ForeignComment, ForeignTicket, keep
from app.importer.row import LINE_BREAKING
from db.engine import Database
from db.schema import TicketRow
from tests.support import NOW, OPERATOR, ago, an_api
from tests.world import World, a_world

ASKABLE = {"external_id": "a#1", "title": "Printer", "created_at": ago(20), "last_speaker": Speaker.NONE}
WORD = ForeignComment("requester", "Bo", "It still jams.", ago(1), public=True)


async def importing(world: World, **values: object) -> None:
    one = ForeignTicket(**{**ASKABLE, "details": {"closed_at": None}} | values)  # type: ignore[arg-type]
    await world.system.db.write(keep, [one], by=OPERATOR, now=world.clock.at)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "change",
    [{"title": "Printer jams"}, {"comments": (WORD,)}, {"labels": ("keep-open",)}, {"details": {"closed_at": ago(2)}}],
    ids=["title", "comment", "label", "closed there"],
)
async def test_a_yes_to_a_ticket_that_an_import_changed_closes_nothing(
    tmp_path: Path, migrated: Path, change: dict[str, object]
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await importing(world)
        await world.sweep()
        [request] = await world.pending()
        await importing(world, **change)
        before = await world.ticket(1)
        await world.approve(request)
        ticket, asked = await world.ticket(1), await world.approval(request)
        assert (ticket.status, ticket.version, ticket.changed_by_request) == (before.status, before.version, None)
        assert (asked.decision, asked.ended) == ("approved", "cancelled")
        assert "closed" not in await world.events("ticket:1")


@pytest.mark.anyio
async def test_a_yes_to_a_ticket_that_came_unchanged_closes_it_and_no_import_reopens_it(
    tmp_path: Path, migrated: Path
) -> None:
    async with a_world(tmp_path, migrated) as world:
        await importing(world)
        await world.sweep()
        [request] = await world.pending()
        await importing(world)
        await world.approve(request)
        await importing(world)
        ticket = await world.ticket(1)
        assert (ticket.status, ticket.changed_by_request) == ("closed", request)


STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
TITLES = STORABLE.filter(lambda text: not text.isspace() and not LINE_BREAKING.search(text))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.lists(st.tuples(TITLES, STORABLE), min_size=1, max_size=5), as_json=st.booleans())
def test_a_good_row_comes_out_of_the_api_as_it_went_in(
    tmp_path: Path, database: Database, said: list[tuple[str, str]], as_json: bool
) -> None:
    rows = [{"external_id": uuid4().hex, "title": title, "created_at": ago(3), "body": body} for title, body in said]
    file = tmp_path / "tickets"
    with file.open("w", encoding="utf-8", newline="") as out:
        if as_json:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            (writer := csv.DictWriter(out, rows[0])).writeheader()
            writer.writerows(rows)
    assert asyncio.run(into_the_api(database, file)) == [
        (row["external_id"], row["title"], row["body"]) for row in rows
    ]


async def into_the_api(database: Database, file: Path) -> list[tuple[str, str, str]]:
    """External id, title and body of what the file brought."""
    done, bad = await bring_in(database, file, NOW)
    assert bad == []
    newest = select(TicketRow.id).order_by(TicketRow.id.desc()).limit(done.added)
    ids = sorted(await database.read(lambda session: list(session.scalars(newest))))
    async with an_api(database) as api:
        found = [(await api.get(f"/tickets/{ticket_id}")).json() for ticket_id in ids]
    return [(one["ticket"]["external_id"], one["ticket"]["title"], one["body"]) for one in found]
