"""What happens to a ticket, verb by verb, at the service seam."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session
from support import OPERATOR, TRIAGER, a_spent_approval, a_ticket, ago, an_approval

from app.domain import Conflict, Invalid, NotFound, OperationId, Speaker, Status
from app.runtime import invocation
from app.runtime.instants import to_text
from app.schemas import AddComment, CreateTicket, EditTicket
from app.services import tickets
from config.triage import POLICY
from db.engine import Database
from db.schema import ApprovalRow, EventRow, TicketRow

pytestmark = pytest.mark.anyio

Do = Callable[..., Awaitable[Any]]


def events_of(session: Session, ticket_id: int) -> list[tuple[str, str, str | None, dict[str, Any]]]:
    columns = (EventRow.kind, EventRow.actor, EventRow.request_id, EventRow.data)
    rows = session.execute(select(*columns).where(EventRow.subject == f"ticket:{ticket_id}").order_by(EventRow.id))
    return [tuple(row) for row in rows]


@pytest.fixture
def do(database: Database, now: datetime) -> Do:
    """Run a verb as the operator, now."""

    async def do(verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await database.write(verb, *args, **({"by": OPERATOR, "now": now} | kwargs))

    return do


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICY, "exempt_assignees", ["Legal", "Audit"])
    monkeypatch.setitem(POLICY, "exempt_priorities", ["urgent"])
    monkeypatch.setitem(POLICY, "exempt_labels", ["keep-open", "hold"])


async def test_a_new_ticket_is_open_at_version_one_and_waits_on_us(do: Do, now: datetime) -> None:
    ticket = await do(tickets.create, CreateTicket(title="Printer on fire", requester="Ana", labels=["b", "a", "b"]))
    assert (ticket.status, ticket.version, ticket.last_speaker) == (Status.OPEN, 1, Speaker.REQUESTER)
    assert (ticket.created_at, ticket.last_activity_at, ticket.labels) == (to_text(now), to_text(now), ["a", "b"])


async def test_nobody_spoke_last_on_a_ticket_without_a_requester(do: Do) -> None:
    assert (await do(tickets.create, CreateTicket(title="Noise"))).last_speaker == Speaker.NONE


async def test_a_ticket_that_began_elsewhere_keeps_its_date(do: Do) -> None:
    ticket = await do(tickets.create, CreateTicket(title="Old", created_at=ago(9)))
    assert (ticket.created_at, ticket.updated_at, ticket.last_activity_at) == (ago(9), ago(9), ago(9))


@pytest.mark.parametrize("text", ["2026-02-30T00:00:00.000Z", "2026-01-01T25:00:00.000Z", "2026-01-01T00:00:00.000Z\n"])
async def test_a_date_that_does_not_exist_is_refused(do: Do, text: str) -> None:
    with pytest.raises(Invalid, match="created_at"):
        await do(tickets.create, CreateTicket(title="Old", created_at=text))


async def test_every_change_is_one_event(do: Do, database: Database) -> None:
    ticket = await do(tickets.create, CreateTicket(title="Printer on fire"))
    await do(tickets.edit, ticket.id, EditTicket(assignee="Bo"))
    said = await do(tickets.comment, ticket.id, AddComment(body="Which floor?"))
    await do(tickets.close, ticket.id, 2)
    await do(tickets.reopen, ticket.id)
    assert await database.read(events_of, ticket.id) == [
        ("created", "operator:1", None, {"title": "Printer on fire"}),
        ("edited", "operator:1", None, {"assignee": "Bo"}),
        ("commented", "operator:1", None, {"comment_id": said.id, "by": "operator", "public": True}),
        ("closed", "operator:1", None, {"version": 3}),
        ("reopened", "operator:1", None, {"version": 4}),
    ]


async def test_an_event_keeps_the_trace_of_its_request(do: Do, database: Database) -> None:
    with invocation.begin("4bf92f3577b34da6a3ce929d0e0e4736"):
        await do(tickets.create, CreateTicket(title="Printer on fire"))
    traces = await database.read(lambda session: list(session.scalars(select(EventRow.trace_id))))
    assert traces == ["4bf92f3577b34da6a3ce929d0e0e4736"]


@pytest.mark.parametrize(
    ("edit", "version"),
    [
        (EditTicket(title="Login page 500s on Safari"), 1),  # as it was
        (EditTicket(title="Login page fails"), 2),
        (EditTicket(protected_until=ago(-5)), 2),
        (EditTicket(protected_until=None), 1),  # as it was
        (EditTicket(title="Login page fails", protected_until=ago(-5)), 2),
        (EditTicket(assignee="Bo", labels=["x"], body="More", priority="high", category="bug", requester="Ana"), 1),
        (EditTicket(assignee="Legal"), 2),  # exempt
        (EditTicket(priority="urgent"), 2),
        (EditTicket(labels=["x", "hold", "keep-open"]), 2),
        (EditTicket(assignee="Legal", priority="urgent", labels=["keep-open"], title="Login page fails"), 2),
    ],
)
@pytest.mark.usefixtures("policy")
async def test_the_version_rises_only_with_what_a_decision_rests_on(
    do: Do, database: Database, edit: EditTicket, version: int
) -> None:
    ticket_id = await database.write(a_ticket)
    ticket = await do(tickets.edit, ticket_id, edit)
    assert (ticket.version, ticket.last_activity_at) == (version, ago(12))


@pytest.mark.parametrize(
    ("edit", "version"),
    [
        (EditTicket(assignee="Legal", priority="urgent", labels=["keep-open", "x"]), 1),  # as it was
        (EditTicket(assignee=None, priority="low", labels=[]), 1),  # no longer exempt: another sweep may ask
        (EditTicket(assignee="Audit"), 2),  # for a reason of its own
        (EditTicket(labels=["keep-open", "hold"]), 2),
    ],
)
@pytest.mark.usefixtures("policy")
async def test_what_was_exempt_before_is_not_made_exempt(
    do: Do, database: Database, edit: EditTicket, version: int
) -> None:
    ticket_id = await database.write(a_ticket, assignee="Legal", priority="urgent", labels=("keep-open",))
    assert (await do(tickets.edit, ticket_id, edit)).version == version


@pytest.mark.usefixtures("policy")
async def test_an_edit_that_makes_exempt_spends_no_statement_more(do: Do, database: Database) -> None:
    ticket_id = await database.write(a_ticket)
    with invocation.begin("a" * 32) as spent:
        await do(tickets.edit, ticket_id, EditTicket(assignee="Legal", priority="urgent", title="Login page fails"))
    assert spent.statements == 2  # the ticket, the event


async def test_an_edit_replaces_the_labels_and_shows_what_is_stored(do: Do, database: Database, now: datetime) -> None:
    ticket_id = await database.write(a_ticket, labels=("a", "b"))
    ticket = await do(tickets.edit, ticket_id, EditTicket(labels=["c", "b"], assignee=None, category="bug"))
    assert ticket == (await database.read(tickets.show, ticket_id)).ticket
    assert (ticket.labels, ticket.category, ticket.updated_at) == (["b", "c"], "bug", to_text(now))


async def test_an_edit_of_a_ticket_that_moved_changes_nothing(do: Do, database: Database) -> None:
    ticket_id = await database.write(a_ticket, version=4)
    with pytest.raises(Conflict, match="at version 4"):
        await do(tickets.edit, ticket_id, EditTicket(version=3, title="Mine"))
    assert await database.read(events_of, ticket_id) == []


async def test_an_edit_that_names_nothing_is_refused(do: Do, database: Database) -> None:
    ticket_id = await database.write(a_ticket)
    with pytest.raises(Invalid, match="names no field"):
        await do(tickets.edit, ticket_id, EditTicket(version=1))


@pytest.mark.parametrize(
    ("said", "by", "moved", "last_speaker"),
    [
        (AddComment(body="Any news?"), OPERATOR, True, "operator"),
        (AddComment(body="Still broken", speaker=Speaker.REQUESTER), OPERATOR, True, "requester"),
        (AddComment(body="Check the fuse", public=False), OPERATOR, False, "none"),
        (AddComment(body="I am a machine"), TRIAGER, False, "none"),
    ],
)
async def test_only_public_words_of_people_move_a_ticket(
    do: Do, database: Database, now: datetime, said: AddComment, by: Any, moved: bool, last_speaker: str
) -> None:
    ticket_id = await database.write(a_ticket, last_speaker="none", requester="Ana")
    comment = await do(tickets.comment, ticket_id, said, by=by)
    detail = await database.read(tickets.show, ticket_id)
    assert detail.comments == [comment]
    assert detail.ticket.version == 1 + moved
    assert detail.ticket.last_activity_at == (to_text(now) if moved else ago(12))
    assert detail.ticket.last_speaker == last_speaker


async def test_a_comment_names_who_spoke(do: Do, database: Database) -> None:
    ticket_id = await database.write(a_ticket, requester="Ana")
    ours = await do(tickets.comment, ticket_id, AddComment(body="Hello"))
    theirs = await do(tickets.comment, ticket_id, AddComment(body="Hi", speaker=Speaker.REQUESTER))
    machine = await do(tickets.comment, ticket_id, AddComment(body="Beep"), by=TRIAGER)
    assert [(c.author_kind, c.author_name) for c in (ours, theirs, machine)] == [
        ("operator", "Ops On-Call"),
        ("requester", "Ana"),
        ("agent", "triager/main"),
    ]


@pytest.mark.parametrize(
    "said",
    [AddComment(body="?", speaker=Speaker.REQUESTER, public=False)],
)
async def test_a_comment_of_nobody_is_refused(do: Do, database: Database, said: AddComment) -> None:
    ticket_id = await database.write(a_ticket)
    with pytest.raises(Invalid, match="Nothing was added"):
        await do(tickets.comment, ticket_id, said)


async def test_a_person_closes_the_version_they_saw(do: Do, database: Database, now: datetime) -> None:
    ticket_id = await database.write(a_ticket, version=3)
    ticket = await do(tickets.close, ticket_id, 3)
    assert (ticket.status, ticket.version, ticket.closed_at) == (Status.CLOSED, 4, to_text(now))
    assert (ticket.closed_by, ticket.last_activity_at) == ("Ops On-Call", ago(12))


async def test_a_ticket_that_changed_since_it_was_seen_is_not_closed(do: Do, database: Database) -> None:
    ticket_id = await database.write(a_ticket)
    await do(tickets.comment, ticket_id, AddComment(body="Still broken", speaker=Speaker.REQUESTER))
    for verb in (tickets.close, tickets.preview_close):
        with pytest.raises(Conflict, match="is at version 2") as refusal:
            await (do(verb, ticket_id, 1) if verb is tickets.close else database.read(verb, ticket_id, 1))
        assert refusal.value.state == Status.OPEN


async def test_a_closed_ticket_is_not_closed_again(do: Do, database: Database) -> None:
    ticket_id = await database.write(a_ticket, status="closed", version=2)
    for version in (1, 2):
        with pytest.raises(Conflict, match="is closed, at version 2") as refusal:
            await do(tickets.close, ticket_id, version)
        assert refusal.value.state == Status.CLOSED
        with pytest.raises(Conflict, match="is closed, at version 2"):
            await database.read(tickets.preview_close, ticket_id, version)


async def test_an_open_ticket_is_not_reopened(do: Do, database: Database) -> None:
    ticket_id = await database.write(a_ticket)
    with pytest.raises(Conflict, match="is open"):
        await do(tickets.reopen, ticket_id)


async def test_reopening_forgets_the_close_and_counts_as_activity(do: Do, database: Database, now: datetime) -> None:
    ticket_id = await database.write(a_ticket)
    closed = await do(tickets.close, ticket_id, 1)
    later = now + timedelta(days=1)
    with pytest.raises(Conflict, match="at version 2"):
        await do(tickets.reopen, ticket_id, 1, now=later)
    ticket = await do(tickets.reopen, ticket_id, closed.version, now=later)
    assert (ticket.status, ticket.version, ticket.last_activity_at) == (Status.OPEN, 3, to_text(later))
    assert (ticket.closed_at, ticket.closed_by) == (None, None)


@pytest.mark.parametrize(
    ("verb", "args"),
    [
        (tickets.edit, (EditTicket(title="x"),)),
        (tickets.comment, (AddComment(body="x"),)),
        (tickets.close, (1,)),
        (tickets.reopen, ()),
    ],
)
async def test_what_is_not_there_cannot_change(do: Do, verb: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with pytest.raises(NotFound, match=r"There is no ticket 9007199254740991\."):
        await do(verb, 2**53 - 1, *args)


async def test_what_is_not_there_cannot_be_seen(database: Database) -> None:
    for verb, args in ((tickets.show, ()), (tickets.preview_close, (1,))):
        with pytest.raises(NotFound):
            await database.read(verb, 7, *args)


async def test_a_preview_says_in_one_sentence_what_would_change(database: Database) -> None:
    ticket_id = await database.write(a_ticket, version=3)
    preview = await database.read(tickets.preview_close, ticket_id, 3)
    assert preview.summary == 'Closes ticket 1, "Login page 500s on Safari".'
    assert (preview.before, preview.after) == ({"status": "open", "version": 3}, {"status": "closed", "version": 4})


async def test_a_title_reorders_and_hides_nothing_of_the_sentence_that_a_person_approves(database: Database) -> None:
    await database.write(a_ticket, title="Rechnung \u202etxt.exe\u2069 \u200b\x1b[31m 👨‍👩‍👧\n")
    preview = await database.read(tickets.preview_close, 1, 1)
    shown = r'Closes ticket 1, "Rechnung \u202etxt.exe\u2069 \u200b\x1b[31m 👨‍👩‍👧\n".'
    assert preview.summary.startswith(shown)


# The effect of an approved call


def verdict(session: Session, request_id: str) -> tuple[str | None, str | None]:
    row = session.execute(select(ApprovalRow.ended, ApprovalRow.ended_at).where(ApprovalRow.id == request_id)).one()
    return row.ended, row.ended_at


async def test_a_spent_approval_closes_its_ticket_in_one_statement(do: Do, database: Database, now: datetime) -> None:
    ticket_id = await database.write(a_ticket)
    request_id = await database.write(a_spent_approval, ticket_id, trace_id="a" * 32)
    with invocation.begin("b" * 32) as spent:
        ticket = await do(tickets.close, ticket_id, 1, by=TRIAGER, operation=OperationId(request_id))
    assert (spent.statements, ticket.status, ticket.closed_by) == (1, Status.CLOSED, "triager/main")
    assert await database.read(verdict, request_id) == ("used", to_text(now))
    assert await database.read(events_of, ticket_id) == [("closed", TRIAGER.key, request_id, {})]


async def test_an_approval_is_used_once(do: Do, database: Database) -> None:
    ticket_id = await database.write(a_ticket)
    request_id = await database.write(a_spent_approval, ticket_id)
    await do(tickets.close, ticket_id, 1, by=TRIAGER, operation=OperationId(request_id))
    await do(tickets.reopen, ticket_id)
    for version in (1, 3):
        with pytest.raises(Conflict):
            await do(tickets.close, ticket_id, version, by=TRIAGER, operation=OperationId(request_id))
    assert [kind for kind, *_ in await database.read(events_of, ticket_id)] == ["closed", "reopened"]


@pytest.mark.parametrize(
    "approval",
    [
        {"claim_id": None},  # nobody has spent it
        {"ended": "cancelled", "ended_at": ago(0)},
        {"subject": "ticket:2"},
    ],
)
async def test_an_approval_that_is_not_spent_here_and_now_closes_nothing(
    do: Do, database: Database, approval: dict[str, Any]
) -> None:
    ticket_id = await database.write(a_ticket)
    request_id = await database.write(a_spent_approval, ticket_id, **approval)
    with pytest.raises(Conflict, match="Nothing was changed"), invocation.begin("b" * 32) as spent:
        await do(tickets.close, ticket_id, 1, by=TRIAGER, operation=OperationId(request_id))
    assert spent.statements == 1
    assert (await database.read(tickets.show, ticket_id)).ticket.status == Status.OPEN


async def test_an_unknown_operation_closes_nothing(do: Do, database: Database) -> None:
    ticket_id = await database.write(a_ticket)
    await database.write(an_approval, ticket_id)
    with pytest.raises(Conflict):
        await do(tickets.close, ticket_id, 1, operation=OperationId("made-up"))


async def test_a_person_may_close_a_ticket_that_an_agent_closed_before(do: Do, database: Database) -> None:
    ticket_id = await database.write(a_ticket)
    request_id = await database.write(a_spent_approval, ticket_id)
    await do(tickets.close, ticket_id, 1, by=TRIAGER, operation=OperationId(request_id))
    await do(tickets.reopen, ticket_id)
    await do(tickets.close, ticket_id, 3)
    marks = await database.read(lambda session: session.scalars(select(TicketRow.changed_by_request)).all())
    assert (marks, await database.read(verdict, request_id)) == ([None], ("used", ago(0)))


async def test_a_write_that_fails_halfway_leaves_nothing(database: Database, now: datetime) -> None:
    def half(session: Session) -> None:
        tickets.create(session, CreateTicket(title="x"), by=OPERATOR, now=now)
        session.execute(update(TicketRow).values(title=None))

    with pytest.raises(Exception, match="NOT NULL"):
        await database.write(half)
    assert await database.read(lambda session: session.scalar(select(func.count()).select_from(TicketRow))) == 0
