"""A request for each route, by the route's name, with what must be there for it made first.

A route that is not listed is asked as it stands: that serves a GET without arguments, and says where a line is missing.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from app.auth import cookies, csrf
from app.measure.asgi import Request, get, post_form, post_json
from app.measure.furnished import TOKEN, Furnished
from app.services import approval_list, sessions, tickets, tokens
from routes.console import ticket_forms

Sample = Callable[[Furnished], Awaitable[Request]]
GUEST = "g" * cookies.SECRET_LENGTH


def sample(route: str, method: str, path: str) -> Sample:
    return SAMPLES.get(route) or _as_it_stands(method, path)


def _as_it_stands(method: str, path: str) -> Sample:
    async def prepared(house: Furnished) -> Request:
        headers = house.browser if path == "/" or path.startswith("/console") else house.bearer
        return Request(method, path, headers)

    return prepared


def _json(path: str, body: Any, method: str = "POST", *, answered: str | None = None) -> Sample:
    """`{ticket}` and `{request}` in the path become new ones."""

    async def prepared(house: Furnished) -> Request:
        return post_json(await _filled(house, path, answered), house.bearer, body, method)

    return prepared


def _form(path: str, *, answered: str | None = None, **fields: str) -> Sample:
    async def prepared(house: Furnished) -> Request:
        return post_form(await _filled(house, path, answered), house.browser, {"_csrf": house.csrf, **fields})

    return prepared


def _page(path: str, **query: str) -> Sample:
    async def prepared(house: Furnished) -> Request:
        return get(await _filled(house, path, None), house.browser, **query)

    return prepared


async def _filled(house: Furnished, path: str, answered: str | None) -> str:
    if "{ticket}" in path:
        return path.format(ticket=await house.ticket())
    return path.format(request=await house.request(answered)) if "{request}" in path else path


async def _one_ticket(house: Furnished) -> Request:
    return get(f"/tickets/{await house.ticket()}", house.bearer)


async def _closed_ticket(house: Furnished) -> Request:
    number = await house.ticket(status="closed")
    return post_json(f"/tickets/{number}/reopen", house.bearer, {})


async def _answer(house: Furnished) -> Request:
    waiting = [await house.request() for _ in range(50)]
    cards = await house.system.db.read(approval_list.named, waiting, house.system.clock())
    seen = [{"id": card.request.id, "fingerprint": card.request.fingerprint} for card in cards]
    return post_json("/approvals/answer", house.bearer, {"decision": "rejected", "requests": seen})


async def _sign_in(house: Furnished) -> Request:
    return _guest_form(house, "/sign-in", token=TOKEN, next="/")


async def _link(house: Furnished) -> Request:
    secret = "measured"  # noqa: S105 (of a throwaway database)
    await house.system.db.write(sessions.make_link, tokens.hashed(secret), 1, house.system.clock())
    return _guest_form(house, "/sign-in/link", secret=secret)


def _guest_form(house: Furnished, path: str, **fields: str) -> Request:
    name = cookies.guest_name(house.system.settings.secure_cookies)
    headers = {"cookie": f"{name}={GUEST}", "accept": "text/html"}
    return post_form(path, headers, {"_csrf": csrf.token(GUEST), **fields})


async def _answers(house: Furnished) -> Request:
    waiting = [await house.request() for _ in range(10)]
    cards = await house.system.db.read(approval_list.named, waiting, house.system.clock())
    fields = [("_csrf", house.csrf), ("decision", "approved")]
    fields += [("requests", f"{card.request.id} {card.request.fingerprint}") for card in cards]
    return post_form("/console/approvals/answer", house.browser, fields)


def _card(action: str, *, answered: str | None = None) -> Sample:
    """A form of the inbox: it names what it showed."""

    async def prepared(house: Furnished) -> Request:
        request_id = await house.request(answered)
        [card] = await house.system.db.read(approval_list.named, [request_id], house.system.clock())
        fields = {"_csrf": house.csrf, "fingerprint": card.request.fingerprint}
        return post_form(f"/console/approvals/{request_id}/{action}", house.browser, fields)

    return prepared


async def _closed_on_a_page(house: Furnished) -> Request:
    number = await house.ticket(status="closed")
    return post_form(f"/console/tickets/{number}/reopen", house.browser, {"_csrf": house.csrf, "version": "1"})


async def _edit_on_a_page(house: Furnished) -> Request:
    number = await house.ticket()
    ticket = (await house.system.db.read(tickets.show, number)).ticket
    form = ticket_forms.form_of(ticket)
    fields = {"seen": form.seen, "title": "Printer still on fire", "priority": form.priority}
    return post_form(f"/console/tickets/{number}", house.browser, {"_csrf": house.csrf, **fields})


def _of_paused(sample: Sample) -> Sample:
    async def prepared(house: Furnished) -> Request:
        await house.system.host.get("triager", "main").pause("sweep", "", "measured", "somebody")
        return await sample(house)

    return prepared


async def _first_sweep(house: Furnished) -> Request:
    sweeps = (await house.system.host.get("triager", "main").call("overview"))["sweeps"]
    if not sweeps:
        await house.system.host.get("triager", "main").call("sweep")
    return get("/console/agents/triager/sweeps/1", house.browser)


async def _sign_out(house: Furnished) -> Request:
    cookie, now = "o" * cookies.SECRET_LENGTH, house.system.clock()
    hashed = tokens.hashed(cookie)
    await house.system.db.write(sessions.start, hashed, now, user_id=1, token_id=None, ttl_s=60, old=hashed)
    name = cookies.session_name(house.system.settings.secure_cookies)
    return post_form("/sign-out", {"cookie": f"{name}={cookie}"}, {"_csrf": csrf.token(cookie)})


SAMPLES: dict[str, Sample] = {
    "tickets.create": _json("/tickets", {"title": "Printer on fire"}),
    "tickets.show": _one_ticket,
    "tickets.edit": _json("/tickets/{ticket}", {"title": "Printer still on fire"}, "PATCH"),
    "tickets.comment": _json("/tickets/{ticket}/comments", {"body": "Any news?"}),
    "tickets.close": _json("/tickets/{ticket}/close", {"version": 1}),
    "tickets.reopen": _closed_ticket,
    "approvals.approve": _json("/approvals/{request}/approve", {}),
    "approvals.reject": _json("/approvals/{request}/reject", {}),
    "approvals.ask_again": _json("/approvals/{request}/ask-again", None, answered="reject"),
    "approvals.answer": _answer,
    "approvals.undo": _json("/approvals/{request}/undo", None, answered="approve"),
    "approvals.prune": _json("/approvals/prune", {}),
    "jobs.pause": _json("/ops/agents/triager/pause", {"callback": "sweep", "note": "measured"}),
    "jobs.unpause": _of_paused(_json("/ops/agents/triager/unpause", {"callback": "sweep"})),
    "brakes.halt": _json("/ops/agents/halt", {}),
    "brakes.resume": _json("/ops/agents/resume", {}),
    "session.new": _page("/sign-in"),
    "session.create": _sign_in,
    "session.link": _page("/sign-in/link/measured"),
    "session.use": _link,
    "session.end": _sign_out,
    "static.file": _page("/static/app.css"),
    "console.approve": _card("approve"),
    "console.reject": _card("reject"),
    "console.ask_again": _form("/console/approvals/{request}/ask-again", answered="reject"),
    "console.answer": _answers,
    "console.undo": _form("/console/approvals/{request}/undo", answered="approve"),
    "console.ticket": _page("/console/tickets/{ticket}"),
    "console.create_ticket": _form("/console/tickets", title="Printer on fire"),
    "console.edit_ticket": _edit_on_a_page,
    "console.comment": _form("/console/tickets/{ticket}/comments", body="Any news?"),
    "console.close_ticket": _form("/console/tickets/{ticket}/close", version="1"),
    "console.reopen_ticket": _closed_on_a_page,
    "console.agent.sweep": _first_sweep,
    "console.agent.pause": _form("/console/agents/triager/pause", callback="sweep"),
    "console.agent.unpause": _of_paused(_form("/console/agents/triager/unpause", callback="sweep")),
    "console.end_session": _form("/console/sessions/end"),
    "console.sweep": _form("/console/sweep"),
    "console.halt": _form("/console/halt"),
    "console.resume": _form("/console/resume", agent=""),
}
