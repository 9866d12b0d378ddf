"""Tickets over HTTP. Two of these routes are tools: an agent may list tickets, and ask to close one."""

from datetime import datetime
from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter

from app.auth import may_close_ticket, operator, signed_in
from app.domain import NAME_MAX, PAGE_MAX, TITLE_MAX, Category, OperationId, Sort, Status, TicketId
from app.runtime.principal import Principal
from app.runtime.tools.agent_route import get, patch, post
from app.schemas import (
    CURSOR,
    IDS,
    INSTANT,
    NO_NUL,
    AddComment,
    CloseTicket,
    CommentOut,
    CreateTicket,
    EditTicket,
    ReopenTicket,
    TicketDetail,
    TicketOut,
    TicketPage,
)
from app.services import ticket_list, tickets
from db.engine import Database


@get("/tickets", name="tickets.index", budget=2, guards=[signed_in]).agent(
    description="List tickets, with how many are open and how many of those had no activity since then.",
)
async def list_tickets(
    db: NamedDependency[Database],
    status: Annotated[Status | None, QueryParameter(description="Only open or only closed tickets.")] = None,
    category: Annotated[Category | None, QueryParameter(description="Only this category.")] = None,
    assignee: Annotated[
        str | None, QueryParameter(max_length=NAME_MAX, pattern=NO_NUL, description="Only this person's.")
    ] = None,
    label: Annotated[
        str | None, QueryParameter(max_length=NAME_MAX, pattern=NO_NUL, description="Only with this label.")
    ] = None,
    text: Annotated[
        str | None,
        QueryParameter(
            min_length=1,
            max_length=TITLE_MAX,
            pattern=NO_NUL,
            description="Only with words in title or body that begin with these, in any order; `#41` is ticket 41.",
        ),
    ] = None,
    inactive_since: Annotated[
        str | None, QueryParameter(pattern=INSTANT, description="Only last active before this instant, in UTC.")
    ] = None,
    ids: Annotated[
        str | None, QueryParameter(pattern=IDS, description="Only these, at most 100: ids with commas between.")
    ] = None,
    sort: Annotated[
        Sort,
        QueryParameter(
            description="By id, newest (highest id) first, or longest without activity first (not with text)."
        ),
    ] = Sort.ID,
    after: Annotated[
        str | None, QueryParameter(pattern=CURSOR, description="The `next` of the page before, in the same sort.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=PAGE_MAX, description="How many tickets a page holds.")] = 50,
) -> TicketPage:
    query = ticket_list.TicketQuery(
        status=status,
        category=category,
        assignee=assignee,
        label=label,
        text=text,
        inactive_since=inactive_since,
        ids=ids,
        sort=sort,
        after=after,
        limit=limit,
    )
    return await db.read(ticket_list.listing, query)


@get("/tickets/{ticket_id:str}", name="tickets.show", budget=3, guards=[signed_in])
async def show_ticket(ticket_id: FromPath[TicketId], db: NamedDependency[Database]) -> TicketDetail:
    """One ticket, with its body and all that was said about it."""
    return await db.read(tickets.show, ticket_id)


@post("/tickets", name="tickets.create", budget=3, guards=[operator])
async def create_ticket(
    data: JSONBody[CreateTicket],
    db: NamedDependency[Database],
    by: NamedDependency[Principal],
    now: NamedDependency[datetime],
) -> TicketOut:
    return await db.write(tickets.create, data, by=by, now=now)


@patch("/tickets/{ticket_id:str}", name="tickets.edit", budget=3, guards=[operator])
async def edit_ticket(
    ticket_id: FromPath[TicketId],
    data: JSONBody[EditTicket],
    db: NamedDependency[Database],
    by: NamedDependency[Principal],
    now: NamedDependency[datetime],
) -> TicketOut:
    return await db.write(tickets.edit, ticket_id, data, by=by, now=now)


@post("/tickets/{ticket_id:str}/comments", name="tickets.comment", budget=4, guards=[operator])
async def comment_on_ticket(
    ticket_id: FromPath[TicketId],
    data: JSONBody[AddComment],
    db: NamedDependency[Database],
    by: NamedDependency[Principal],
    now: NamedDependency[datetime],
) -> CommentOut:
    return await db.write(tickets.comment, ticket_id, data, by=by, now=now)


@post(
    "/tickets/{ticket_id:str}/close", name="tickets.close", budget=3, status_code=200, guards=[may_close_ticket]
).agent(
    description="Close one ticket you have seen at this version. A person must approve it before it runs.",
    approval="required",
    preview=tickets.preview_close,
    no_is_final=True,
)
async def close_ticket(
    ticket_id: FromPath[TicketId],
    data: JSONBody[CloseTicket],
    operation: NamedDependency[OperationId | None],
    db: NamedDependency[Database],
    by: NamedDependency[Principal],
    now: NamedDependency[datetime],
) -> TicketOut:
    return await db.write(tickets.close, ticket_id, data.version, by=by, now=now, operation=operation)


@post("/tickets/{ticket_id:str}/reopen", name="tickets.reopen", budget=3, status_code=200, guards=[operator])
async def reopen_ticket(
    ticket_id: FromPath[TicketId],
    data: JSONBody[ReopenTicket],
    db: NamedDependency[Database],
    by: NamedDependency[Principal],
    now: NamedDependency[datetime],
) -> TicketOut:
    return await db.write(tickets.reopen, ticket_id, data.version, by=by, now=now)


routes = (list_tickets, show_ticket, create_ticket, edit_ticket, comment_on_ticket, close_ticket, reopen_ticket)
