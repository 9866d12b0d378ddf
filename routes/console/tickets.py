"""Tickets on pages: a list to search in, a new one, and each with all that happened to it."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, URLEncodedBody

from app.auth import operator
from app.domain import COUNT_MAX, Category, Priority, Refusal, TicketId
from app.runtime.instants import to_text
from app.services import ticket_view, tickets
from app.services.ticket_list import TicketQuery, listing
from config.triage import POLICY
from routes.console import ticket_forms as forms
from routes.console.desk import Desk

ROWS = 50
ASKED = {"status": "open", "text": "", "category": "", "assignee": "", "label": "", "sort": "newest", "after": ""}
CHOICES = {"categories": list(Category), "priorities": list(Priority)}


@get("/console/tickets", name="console.tickets", budget=3)
async def index(desk: NamedDependency[Desk]) -> Response[str]:
    asked = {name: desk.request.query_params.get(name, usual).strip() for name, usual in ASKED.items()}
    page, notice, status = None, None, 200
    try:
        page = await desk.db.read(listing, _query(desk, asked))
    except Refusal as refusal:
        notice, status = _for_people(str(refusal)), refusal.status
    link = partial(_link, asked)
    shown = {"asked": asked, "link": link, "count_max": COUNT_MAX, "days": POLICY["stale_after_days"], **CHOICES}
    return await desk.show("tickets.html", page=page, notice=notice, status=status, **shown)


def _query(desk: Desk, asked: dict[str, str]) -> TicketQuery:
    given = {name: value.replace("\0", " ") for name, value in asked.items() if value}
    if given.get("status") == "any":
        del given["status"]
    stale_since = to_text(desk.now - timedelta(days=POLICY["stale_after_days"]))
    return forms.checked(TicketQuery, {**given, "stale_since": stale_since, "limit": ROWS})


def _link(asked: dict[str, str], **changed: str) -> str:
    """The list with something otherwise, from its first page on."""
    query = {name: value for name, value in {**asked, "after": "", **changed}.items() if value != ASKED[name]}
    return f"/console/tickets?{urlencode(query)}" if query else "/console/tickets"


@get("/console/tickets/new", name="console.new_ticket", budget=2)
async def new(desk: NamedDependency[Desk]) -> Response[str]:
    return await _new_page(desk, forms.New())


async def _new_page(desk: Desk, form: forms.New, notice: str | None = None, status: int = 200) -> Response[str]:
    return await desk.show("ticket_new.html", form=form, notice=notice, status=status, **CHOICES)


@post("/console/tickets", name="console.create_ticket", budget=3, guards=[operator], status_code=200)
async def create(data: URLEncodedBody[forms.New], desk: NamedDependency[Desk]) -> Response[Any]:
    async def made() -> TicketId:
        ticket = await desk.db.write(tickets.create, forms.new_ticket(data), by=desk.request.user, now=desk.now)
        return TicketId(ticket.id)

    return await desk.act(made(), then=_page_of, on=partial(_new_page, desk, data))


@get("/console/tickets/{ticket_id:str}", name="console.ticket", budget=5)
async def show(
    ticket_id: FromPath[TicketId],
    desk: NamedDependency[Desk],
    before: FromQuery[str | None] = None,
    whole: FromQuery[str] = "",
) -> Response[str]:
    return await _page(desk, ticket_id, before=before, whole=whole)


async def _page(
    desk: Desk,
    ticket_id: TicketId,
    notice: str | None = None,
    status: int = 200,
    *,
    before: str | None = None,
    whole: str = "",
    edit: forms.Edit | None = None,
    comment: forms.Comment | None = None,
) -> Response[str]:
    """`whole` is the text that is not cut: a comment's id, or "body". `edit` or `comment` was typed, and refused."""
    number = int(whole) if re.fullmatch("[0-9]{1,16}", whole) else 0
    found = await desk.db.read(ticket_view.view, ticket_id, desk.now, before=before, whole=number)
    form, moved = forms.rebased(edit, found.ticket) if edit else (forms.form_of(found.ticket), [])
    return await desk.show(
        "ticket.html",
        notice=notice and _for_people(notice),
        status=status,
        found=found,
        form=form,
        labels=forms.choices(form),
        moved=moved,
        edited=edit is not None,
        said=comment,
        before=before,
        whole=whole,
        **CHOICES,
    )


@post("/console/tickets/{ticket_id:str}", name="console.edit_ticket", budget=3, guards=[operator], status_code=200)
async def edit(
    ticket_id: FromPath[TicketId], data: URLEncodedBody[forms.Edit], desk: NamedDependency[Desk]
) -> Response[Any]:
    async def edited() -> TicketId:
        change, was = forms.edit(data, desk.now)
        await desk.db.write(tickets.edit, ticket_id, change, by=desk.request.user, now=desk.now, was=was)
        return ticket_id

    return await desk.act(edited(), then=_page_of, on=partial(_page, desk, ticket_id, edit=data))


@post("/console/tickets/{ticket_id:str}/comments", name="console.comment", budget=4, guards=[operator], status_code=200)
async def comment(
    ticket_id: FromPath[TicketId], data: URLEncodedBody[forms.Comment], desk: NamedDependency[Desk]
) -> Response[Any]:
    async def said() -> TicketId:
        await desk.db.write(tickets.comment, ticket_id, forms.comment(data), by=desk.request.user, now=desk.now)
        return ticket_id

    return await desk.act(said(), then=_page_of, on=partial(_page, desk, ticket_id, comment=data))


@post(
    "/console/tickets/{ticket_id:str}/close", name="console.close_ticket", budget=3, guards=[operator], status_code=200
)
async def close(
    ticket_id: FromPath[TicketId], data: URLEncodedBody[forms.At], desk: NamedDependency[Desk]
) -> Response[Any]:
    return await _moved(desk, ticket_id, data, tickets.close)


@post(
    "/console/tickets/{ticket_id:str}/reopen",
    name="console.reopen_ticket",
    budget=3,
    guards=[operator],
    status_code=200,
)
async def reopen(
    ticket_id: FromPath[TicketId], data: URLEncodedBody[forms.At], desk: NamedDependency[Desk]
) -> Response[Any]:
    return await _moved(desk, ticket_id, data, tickets.reopen)


async def _moved(desk: Desk, ticket_id: TicketId, at: forms.At, verb: Callable[..., Any]) -> Response[Any]:
    async def done() -> TicketId:
        await desk.db.write(verb, ticket_id, forms.version(at), by=desk.request.user, now=desk.now)
        return ticket_id

    return await desk.act(done(), then=_page_of, on=partial(_page, desk, ticket_id))


def _page_of(ticket_id: TicketId) -> str:
    return f"/console/tickets/{ticket_id}"


def _for_people(words: str) -> str:
    """Without the route that a program would turn to next: a person has the page."""
    return re.sub(r" (See|List them with): GET \S+", "", words)


routes = (index, new, create, show, edit, comment, close, reopen)
