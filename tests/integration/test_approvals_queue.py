"""The requests to people, tab by tab: which are where, in which order, page by page, and found by words."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest

from app.runtime.tools.approvals import NewRequest
from app.schemas import Card, Tab
from app.services.approval_list import Queue, named, queue
from db.engine import Database
from db.schema import ApprovalRow, TicketRow
from tests.support import NOW, a_ticket, ago, an_approval
from tests.support_tools import statements
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

YES: dict[str, Any] = {"decision": "approved", "decided_at": ago(0.1), "decided_by": "Ana", "use_by": ago(-1)}
NO: dict[str, Any] = {"decision": "rejected", "decided_at": ago(0.1), "ended": "rejected", "ended_at": ago(0.1)}
SPENT = YES | {"claim_id": "mine", "consumed_at": ago(0.1)}
STANDS: dict[str, tuple[Tab | None, dict[str, Any]]] = {
    "waits": ("waiting", {}),
    "its last millisecond": ("waiting", {"expires_at": "2026-03-09T12:00:00.001Z"}),
    "lapsed": ("expired", {"expires_at": ago(0)}),
    "on its way": ("approved", YES),
    "a yes nobody used": ("expired", YES | {"use_by": ago(0)}),
    "being carried out": ("approved", SPENT | {"use_by": ago(0)}),
    "used": ("approved", SPENT | {"ended": "used", "ended_at": ago(0.1)}),
    "needs a look": ("approved", SPENT | {"ended": "unknown", "ended_at": ago(0.1)}),
    "no": ("rejected", NO),
    "no, and forgotten": ("rejected", NO | {"superseded_at": ago(0)}),
    "no, for a time": ("rejected", NO | {"until_at": ago(0.05)}),
    "expired": ("expired", {"ended": "expired", "ended_at": ago(0.1)}),
    "a yes that expired": ("expired", YES | {"ended": "expired", "ended_at": ago(0.1)}),
    "withdrawn": ("cancelled", {"ended": "cancelled", "ended_at": ago(0.1)}),
    "changed since asked": ("cancelled", SPENT | {"ended": "cancelled", "ended_at": ago(0.1)}),
    "a tombstone": (None, {"ended": "cancelled", "ended_at": ago(0.1), "fingerprint": ""}),
}


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


def ids(page: Queue) -> list[str]:
    return [card.request.id for card in page.cards]


async def the_card(database: Database, tab: Tab = "waiting") -> Card:
    [card] = (await database.read(queue, tab, NOW)).cards
    return card


async def test_every_request_that_was_asked_is_in_one_tab(database: Database) -> None:
    for number, (name, (_, columns)) in enumerate(STANDS.items()):
        await database.write(an_approval, number, **{"id": name, **columns})
    for tab in get_args(Tab):
        page = await database.read(queue, tab, NOW)
        assert set(ids(page)) == {name for name, (its, _) in STANDS.items() if its == tab}
        assert page.next is None


async def test_what_waits_comes_oldest_first_and_all_else_by_when_it_came_there(database: Database) -> None:
    for number, hours in enumerate((3, 1, 2)):
        asked = {"requested_at": ago(hours / 24), "expires_at": ago((hours - 72) / 24)}
        await database.write(an_approval, 10 + number, id=f"{hours} waits", **asked)
        end = {"ended_at": ago(hours / 24)}
        await database.write(an_approval, 20 + number, id=f"{hours} no", **NO | end)
        await database.write(an_approval, 30 + number, id=f"{hours} gone", ended="expired", **end)
        await database.write(an_approval, 40 + number, id=f"{hours} off", ended="cancelled", **end)
        await database.write(an_approval, 50 + number, id=f"{hours} yes", **YES | {"decided_at": ago(hours / 24)})
    await database.write(an_approval, 60, id="1.5 lapsed", expires_at=ago(1.5 / 24))
    assert ids(await database.read(queue, "waiting", NOW)) == ["3 waits", "2 waits", "1 waits"]
    expired = ["1 gone", "1.5 lapsed", "2 gone", "3 gone"]
    for tab, expected in (("rejected", "no"), ("cancelled", "off"), ("approved", "yes"), ("expired", expired)):
        order = expected if isinstance(expected, list) else [f"{hours} {expected}" for hours in (1, 2, 3)]
        assert ids(await database.read(queue, tab, NOW)) == order


@pytest.mark.parametrize("tab", get_args(Tab))
@pytest.mark.parametrize("at_once", [False, True])
async def test_page_by_page_every_request_comes_once(database: Database, tab: Tab, at_once: bool) -> None:
    """Also where fifty ended, or were asked, in the same instant: then in the order in which they were asked."""
    columns: dict[Tab, dict[str, Any]] = {
        "waiting": {},
        "approved": YES,
        "rejected": NO,
        "expired": {"ended": "expired"},
        "cancelled": {"ended": "cancelled"},
    }
    for number in range(53):
        at = ago(0 if at_once else number / 1_000)
        moved = {"decided_at": at, "ended_at": at, "expires_at": ago(-3 if at_once else -3 + number / 1_000)}
        given = columns[tab] | {name: value for name, value in moved.items() if name in ("expires_at", *columns[tab])}
        if tab in ("expired", "cancelled"):
            given["ended_at"] = at
        await database.write(an_approval, number, **given)
    seen: list[str] = []
    pages, after = 0, None
    while pages == 0 or after:
        page = await database.read(queue, tab, NOW, after=after)
        seen, pages, after = seen + ids(page), pages + 1, page.next
    assert (len(seen), len(set(seen)), pages) == (53, 53, 3)
    numbers = [int(one.split("-")[1]) for one in seen]
    assert numbers == sorted(numbers, reverse=(tab == "waiting") != at_once)


async def test_what_is_answered_meanwhile_moves_no_later_page(database: Database) -> None:
    for number in range(30):
        await database.write(an_approval, number, expires_at=ago(-3 - number / 1_000))
    first = await database.read(queue, "waiting", NOW, limit=10)
    await database.write(_changed, "request-3-1", **NO)
    second = await database.read(queue, "waiting", NOW, limit=10, after=first.next)
    assert ids(second) == [f"request-{number}-1" for number in range(10, 20)]
    late = await database.read(queue, "waiting", NOW + timedelta(hours=72, seconds=1), after=first.next)
    assert ids(late) == [f"request-{number}-1" for number in range(10, 30)]


def _changed(session: Any, request_id: str, **columns: Any) -> None:
    session.execute(ApprovalRow.__table__.update().where(ApprovalRow.id == request_id).values(columns))


async def test_what_a_page_shows_keeps_its_place_though_it_is_answered(database: Database) -> None:
    for number in range(8):
        await database.write(an_approval, number, expires_at=ago(-3 - number / 1_000))
    shown = ids(await database.read(queue, "waiting", NOW, limit=5))
    await database.write(_changed, "request-1-1", **NO)
    await database.write(_changed, "request-3-1", **YES)
    page = await database.read(queue, "waiting", NOW, limit=5, shown=shown)
    assert ids(page) == [f"request-{number}-1" for number in range(7)]  # five that wait, and two that did
    assert [card.request.status for card in page.cards[:4]] == ["pending", "rejected", "pending", "approved"]
    rest = await database.read(queue, "waiting", NOW, limit=5, after=page.next)
    assert ids(rest) == ["request-7-1"]
    assert ids(await database.read(queue, "rejected", NOW, shown=shown)) == ["request-1-1"]  # for the first tab only


async def test_a_number_finds_what_is_about_that_ticket_and_words_what_was_said(database: Database) -> None:
    titles = {4: "Printer on fire", 41: "Café 100%", 414: "printer, again", 5: "x_y"}
    for number, title in titles.items():
        preview = {"summary": f'Closes ticket {number}, "{title}".', "before": {}, "after": {}}
        await database.write(an_approval, number, preview=preview, expires_at=ago(-3 - number / 1_000))
    await database.write(an_approval, 41, 2, expires_at=ago(-4))
    found = {
        "41": ["request-41-1", "request-41-2"],
        " #41 ": ["request-41-1", "request-41-2"],
        "42": [],
        "printer": ["request-4-1", "request-414-1"],
        "AGAIN printer": ["request-414-1"],
        "café": ["request-41-1"],
        "100%": ["request-41-1"],
        "x_y": ["request-5-1"],
        "%": ["request-41-1"],
        "'; --": [],
        "": ["request-4-1", "request-5-1", "request-41-1", "request-414-1", "request-41-2"],
    }
    for search, expected in found.items():
        assert ids(await database.read(queue, "waiting", NOW, search=search)) == expected, search
    first = await database.read(queue, "waiting", NOW, search="closes", limit=2)
    rest = await database.read(queue, "waiting", NOW, search="closes", limit=2, after=first.next)
    assert ids(first) + ids(rest) == ["request-4-1", "request-5-1", "request-41-1", "request-414-1"]


async def test_a_card_shows_its_ticket_as_it_is_now(database: Database) -> None:
    ticket = await database.write(a_ticket, title="Printer", requester="Bo", last_speaker="requester", version=4)
    before = {"status": "open", "version": 3}
    await database.write(an_approval, ticket, 3, preview={"summary": "Closes it.", "before": before, "after": {}})
    await database.write(_moved, ticket, last_activity_at=ago(0.01))
    card = await the_card(database)
    assert card.ticket is not None
    assert (card.ticket.id, card.ticket.title, card.ticket.version, card.ticket.requester) == (
        ticket,
        "Printer",
        4,
        "Bo",
    )
    assert card.changed == f"The requester wrote at {ago(0.01)}."


def _moved(session: Any, ticket: int, **columns: Any) -> None:
    session.execute(TicketRow.__table__.update().where(TicketRow.id == ticket).values(columns))


@pytest.mark.parametrize("subject", ["parcels_send", "ticket:999", "ticket:", "ticket:1x", "parcel:1"])
async def test_a_card_of_no_ticket_shows_none(database: Database, subject: str) -> None:
    await database.write(a_ticket)
    await database.write(an_approval, subject=subject, input={}, fingerprint="other")
    card = await the_card(database)
    assert card.ticket is None or subject == "ticket:1x"


async def test_requests_are_named_in_the_order_that_was_asked(database: Database) -> None:
    for number in (1, 2, 3):
        await database.write(an_approval, number)
    cards = await database.read(named, ["request-3-1", "nobody", "request-1-1"], NOW)
    assert [card.request.id for card in cards] == ["request-3-1", "request-1-1"]


async def test_over_http_a_tab_comes_in_pages_and_costs_two_statements(world: World) -> None:
    for number in range(60):
        await world.system.db.write(an_approval, number, expires_at=ago(-3 - number / 1_000))
    ran = statements(world.system.db)
    page = (await world.client.get("/approvals", params={"tab": "waiting"})).json()
    assert len(ran) == 2  # one for the token
    assert set(page) == {"requests", "next"}
    seen = [one["request"]["id"] for one in page["requests"]]
    while page["next"]:
        page = (await world.client.get("/approvals", params={"tab": "waiting", "after": page["next"]})).json()
        seen += [one["request"]["id"] for one in page["requests"]]
    assert seen == [f"request-{number}-1" for number in range(60)]
    found = (await world.client.get("/approvals", params={"tab": "waiting", "search": "#7"})).json()
    assert [one["request"]["id"] for one in found["requests"]] == ["request-7-1"]


async def test_every_no_is_found_in_its_tab_and_not_only_the_newest_twenty(world: World) -> None:
    for number in range(25):
        await world.system.db.write(an_approval, number, **NO | {"ended_at": ago(number)})
    assert len((await world.client.get("/approvals")).json()["declined"]) == 20
    page = (await world.client.get("/approvals", params={"tab": "rejected"})).json()
    rest = (await world.client.get("/approvals", params={"tab": "rejected", "after": page["next"]})).json()
    seen = [one["request"]["id"] for one in page["requests"] + rest["requests"]]
    assert (seen, rest["next"]) == ([f"request-{number}-1" for number in range(25)], None)


@pytest.mark.parametrize(
    "query",
    [
        {"tab": "all"},
        {"tab": ""},
        {"search": "41"},
        {"after": f"{ago(0)}_1"},
        {"tab": "waiting", "after": "soon_1"},
        {"tab": "waiting", "after": "2026-02-31T00:00:00.000Z_1"},
        {"tab": "waiting", "after": f"{ago(0)}_x"},
        {"tab": "waiting", "after": f"{ago(0)}_9999999999999999"},
        {"tab": "waiting", "search": "x" * 201},
        {"tab": "waiting", "limit": "3"},
    ],
)
async def test_a_list_that_cannot_be_meant_is_refused(world: World, query: dict[str, str]) -> None:
    assert (await world.client.get("/approvals", params=query)).status_code in (400, 422)


async def test_the_mark_of_what_is_shown_tells_requests_apart_and_no_secret(world: World) -> None:
    said: dict[str, Any] = {"tool": "parcels_send", "principal_key": "token:7", "subject": "parcel:7", "preview": {}}
    one = NewRequest(id="one", input={"pin": "[REDACTED]"}, fingerprint="hash of pin 1234", **said)
    same = NewRequest(id="one", input={"pin": "[REDACTED]"}, fingerprint="hash of pin 9999", **said)
    assert one.shown == same.shown
    others = [{"id": "two"}, {"subject": "parcel:8"}, {"input": {}}, {"preview": {"summary": "x"}}, {"because": "so"}]
    told = {"id": "one", "input": {"pin": "[REDACTED]"}, "fingerprint": "", **said}
    assert one.shown not in {NewRequest(**{**told, **other}).shown for other in others}
    await world.system.db.write(a_ticket)
    await world.sweep()
    [request] = (await world.client.get("/approvals")).json()["pending"]
    row = await world.approval(request["id"])
    assert (request["fingerprint"], row.fingerprint.startswith(request["fingerprint"])) == (row.shown, False)
