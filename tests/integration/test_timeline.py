"""What happened to a ticket, in one order: from its comments, events and requests."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert
from sqlalchemy.orm import Session
from support import NOW, OPERATOR, a_comment, a_ticket, ago, an_approval, an_operator

from app.domain import Invalid
from app.runtime import invocation
from app.runtime.principal import Principal
from app.schemas import AddComment, EditTicket
from app.services import approvals, tickets, timeline
from app.services.timeline import CUT, Change, Entry
from app.services.undo import undo
from db.engine import Database
from db.schema import EventRow, TokenRow

pytestmark = pytest.mark.anyio
SAID = {"by": OPERATOR, "now": NOW, "reason": None}


async def told(database: Database, ticket_id: int = 1, **more: Any) -> list[str]:
    """Oldest first, a line each."""
    found = await database.read(timeline.timeline, ticket_id, NOW, **more)
    return [_line(entry) for entry in reversed(found.entries)]


def _line(entry: Entry) -> str:
    changes = "".join(f" {one.field} {one.was!r} {one.now!r}" for one in entry.changes)
    text = f": {entry.text}" if entry.text else ""
    return f"{entry.by or '-'} {entry.did or 'wrote'}{changes}{text}"


def furnish(session: Session) -> None:
    an_operator(session)
    a_ticket(session)
    a_ticket(session)


@pytest.fixture
async def desk(database: Database) -> Database:
    await database.write(furnish)
    return database


async def test_comments_changes_asks_answers_and_outcomes_stand_in_one_order(desk: Database) -> None:
    def live(session: Session) -> None:
        a_comment(session, 1, author_kind="requester", author_name="Chidi", body="It broke", created_at=ago(9))
        edit = EditTicket(priority="high", labels=["web"])
        tickets.edit(
            session, 1, edit, by=OPERATOR, now=NOW - timedelta(days=8), was={"priority": "normal", "labels": []}
        )
        comment = AddComment(body="A fix is out", public=True)
        tickets.comment(session, 1, comment, by=OPERATOR, now=NOW - timedelta(days=7.5))
        an_approval(
            session, requested_at=ago(7), expires_at=ago(4), because="No activity", ended="expired", ended_at=ago(4)
        )
        an_approval(session, 1, 2, requested_at=ago(1))
        approvals.reject(session, "request-1-2", **SAID | {"reason": "On holiday"}, until_at=None)
        tickets.close(session, 1, 2, by=OPERATOR, now=NOW + timedelta(hours=1))
        tickets.reopen(session, 1, by=OPERATOR, now=NOW + timedelta(hours=2))
        a_comment(session, 2, body="Elsewhere")

    await desk.write(live)
    assert await told(desk) == [
        "Chidi wrote: It broke",
        "Ops On-Call changed priority 'normal' 'high' labels '' 'web'",
        "Ops On-Call wrote: A fix is out",
        "triager/main asked to close the ticket: No activity",
        "- Nobody answered the request in time",
        "triager/main asked to close the ticket",
        "Ops On-Call said no: On holiday",
        "Ops On-Call closed the ticket",
        "Ops On-Call reopened the ticket",
    ]


async def test_a_yes_that_was_taken_back_or_carried_out_is_told_once(desk: Database) -> None:
    def live(session: Session) -> None:
        an_approval(session)
        approvals.approve(session, "request-1-1", **SAID, use_ttl_s=3600)
        undo(session, "request-1-1", by=OPERATOR, now=NOW)
        asked = {"requested_at": ago(0.01), "decision": "approved", "decided_at": ago(0), "decided_by": "Ops"}
        an_approval(session, 2, 1, **asked, use_by=ago(-1), claim_id="c", consumed_at=ago(0))
        tickets.close(session, 2, 1, by=Principal.agent("triager", "main"), now=NOW, operation="request-2-1")

    await desk.write(live)
    yes_and_back = ["Ops On-Call said yes", "Ops On-Call took back the yes"]
    assert await told(desk) == ["triager/main asked to close the ticket", *yes_and_back]
    assert await told(desk, 2) == ["triager/main asked to close the ticket", "triager/main closed the ticket"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"expires_at": ago(0)}, "Nobody answered the request in time"),
        ({"decision": "approved", "use_by": ago(0)}, "The yes was not used in time"),
        (
            {"decision": "approved", "use_by": ago(1), "ended": "expired", "ended_at": ago(0)},
            "The yes was not used in time",
        ),
        (
            {"decision": "approved", "ended": "cancelled", "ended_at": ago(0), "ended_reason": "changed since asked"},
            "The yes was not carried out: changed since asked",
        ),
        (
            {"decision": "approved", "ended": "unknown", "ended_at": ago(0), "ended_reason": "no verdict"},
            "What was approved may have been carried out, or not: it needs a look: no verdict",
        ),
    ],
)
async def test_an_end_that_no_event_tells_of_is_told_from_the_request(
    desk: Database, columns: dict[str, Any], said: str
) -> None:
    await desk.write(an_approval, requested_at=ago(3), **columns)
    assert await told(desk) == ["triager/main asked to close the ticket", f"- {said}"]


async def test_a_request_that_waits_or_was_withdrawn_has_no_second_line(desk: Database) -> None:
    await desk.write(an_approval)
    await desk.write(an_approval, 2, ended="cancelled", ended_at=ago(0), ended_reason="withdrawn: it moved")
    for ticket_id in (1, 2):
        assert await told(desk, ticket_id) == ["triager/main asked to close the ticket"]


async def test_actors_are_named_as_people_know_them(desk: Database) -> None:
    def live(session: Session) -> None:
        token = {"id": "t1", "name": "desk", "user_id": 1, "kind": "tools", "hashed": "x", "scopes": []}
        session.execute(insert(TokenRow).values(**token, created_at=ago(9)))
        for number, actor in enumerate(("operator:1", "operator:99", "token:t1", "token:gone", "agent:triager:a%3Ab")):
            event = {"subject": "ticket:1", "kind": "closed", "actor": actor, "data": {}}
            session.execute(insert(EventRow).values(**event, at=ago(9 - number)))

    await desk.write(live)
    assert [line.removesuffix(" closed the ticket") for line in await told(desk)] == [
        "Ops On-Call",
        "operator:99",
        "token desk",
        "token:gone",
        "triager/a:b",
    ]


async def test_what_another_tool_did_is_told_with_what_it_changed(desk: Database) -> None:
    event = {"subject": "ticket:1", "kind": "tickets_assign", "actor": "agent:desk:main", "at": ago(1)}
    data = {"assignee": "Ana", "version": 2}
    await desk.write(lambda session: session.execute(insert(EventRow).values(**event, data=data)) and None)
    await desk.write(an_approval, tool="tickets_assign", preview={"summary": "Gives it to Ana."})
    assert await told(desk) == ["desk/main tickets_assign assignee '' 'Ana'", "triager/main asked: Gives it to Ana."]


async def test_pages_hold_everything_once_however_much_happened_in_one_instant(desk: Database) -> None:
    def live(session: Session) -> None:
        for number in range(30):
            a_comment(session, 1, body=f"c{number}", created_at=ago(1))
            event = {"subject": "ticket:1", "kind": "edited", "actor": "operator:1", "data": {"title": f"e{number}"}}
            session.execute(insert(EventRow).values(**event, at=ago(1 + number % 3)))
            an_approval(
                session, 1, number + 1, requested_at=ago(1), expires_at=ago(1), ended="expired", ended_at=ago(1)
            )

    await desk.write(live)
    whole = (await desk.read(timeline.timeline, 1, NOW, limit=1000)).entries
    before, seen, pages = None, [], 0
    while pages == 0 or before:
        page = await desk.read(timeline.timeline, 1, NOW, before=before, limit=7)
        seen, before, pages = [*seen, *page.entries], page.older, pages + 1
    assert (seen, len(whole), pages) == (whole, 120, 18)


async def test_a_long_comment_is_cut_until_all_of_it_is_asked_for(desk: Database) -> None:
    await desk.write(a_comment, 1, body="é" * (CUT + 1))
    await desk.write(a_comment, 1, body="é" * CUT)
    exact, cut = (await desk.read(timeline.timeline, 1, NOW)).entries
    assert [(len(one.text), one.cut) for one in (exact, cut)] == [(CUT, False), (CUT, True)]
    _, whole = (await desk.read(timeline.timeline, 1, NOW, whole=cut.comment)).entries
    assert (len(whole.text), whole.cut) == (CUT + 1, False)


async def test_an_edited_text_is_told_without_it(desk: Database) -> None:
    await desk.write(tickets.edit, 1, EditTicket(body="x" * 20_000, title="New"), by=OPERATOR, now=NOW)
    [entry] = (await desk.read(timeline.timeline, 1, NOW)).entries
    assert entry.changes == [Change("title", "", "New"), Change("text", "", "")]


@pytest.mark.parametrize("before", ["x", f"{ago(1)}_", f"{ago(1)}_q1", f"{ago(1)}_c1 OR 1", f"{ago(1)}_c{'1' * 70}"])
async def test_a_place_that_is_none_is_refused(desk: Database, before: str) -> None:
    with pytest.raises(Invalid, match="no place in this history"):
        await desk.read(timeline.timeline, 1, NOW, before=before)


async def test_it_takes_one_statement_and_sorts_no_more_than_a_page(desk: Database) -> None:
    def live(session: Session, many: int) -> None:
        ticket_id = a_ticket(session)
        for number in range(many):
            a_comment(session, ticket_id, created_at=ago(5 - number / many))
            event = {"subject": f"ticket:{ticket_id}", "kind": "edited", "actor": "operator:1", "data": {}}
            session.execute(insert(EventRow).values(**event, at=ago(5 - number / many)))

    await desk.write(live, 200)
    await desk.write(live, 2_000)
    with invocation.begin("a" * 32) as spent:
        few, many = [await desk.read(_steps, ticket_id) for ticket_id in (3, 4)]
    assert spent.statements == 2
    assert many < 1.2 * few, (few, many)


def _steps(session: Session, ticket_id: int) -> int:
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1

    connection: Any = session.connection().connection.dbapi_connection
    connection.set_progress_handler(step, 1)
    assert len(timeline.timeline(session, ticket_id, NOW).entries) == timeline.PAGE
    connection.set_progress_handler(None, 0)
    return taken
