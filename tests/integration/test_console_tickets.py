"""The console's pages about tickets, without JavaScript: what they show, and that a refusal loses nothing typed."""

import re
import sqlite3
from typing import Any

import httpx
import pytest
from sqlalchemy import insert
from sqlalchemy.orm import Session
from support import NOW, OPERATOR, a_comment, a_ticket, ago
from support_console import COOKIE, LOOKER_COOKIE, OTHER_COOKIE, House, csrf_of, words

from app.schemas import AddComment, EditTicket
from app.services import tickets
from db.schema import CommentRow, LabelRow

pytestmark = pytest.mark.anyio
LIST, ONE, NEW = "/console/tickets", "/console/tickets/1", "/console/tickets/new"


def rows(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'class="number">#(\d+)', html)]


def fields(html: str) -> dict[str, Any]:
    """What the form that edits would send, as it stands."""
    form = html[html.index('class="fields"') :]
    sent: dict[str, Any] = {}
    for tag in re.findall(r"<input [^>]*>", form):
        name, value = re.search(r'name="(\w+)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and ("checkbox" not in tag or " checked" in tag):
            sent.setdefault(name[1], []).append(_plain(value[1] if value else ""))
    for name, options in re.findall(r'<select id="\w+" name="(\w+)">(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r"<option(?: value=\"([^\"]*)\")? selected>([^<]*)", options)
        sent[name] = chosen[2] if chosen else ""
    sent["title"] = _plain(re.search(r'name="title"[^>]*>\n(.*?)</textarea>', form, re.DOTALL)[1])  # type: ignore[index]
    del sent["_csrf"]
    return {name: value[0] if isinstance(value, list) and name != "labels" else value for name, value in sent.items()}


def _plain(text: str) -> str:
    for escaped, one in (("&#34;", '"'), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(escaped, one)
    return text


async def edited(house: House, path: str = ONE, **typed: Any) -> httpx.Response:
    """The form of the page, with this typed into it."""
    return await house.post(path, **fields(await house.page(path)) | typed)


async def test_the_list_shows_open_tickets_the_newest_first_with_counts_in_three_statements(house: House) -> None:
    await house.system.db.write(
        a_ticket, requester="Chidi", last_speaker="requester", priority="urgent", assignee="Ana"
    )
    html = await house.page(LIST)
    assert (rows(html), house.spent) == ([5, 3, 2, 1], 3)
    assert "4 open, 3 of them without activity for 7 days." in words(html)
    assert "#5 Login page 500s on Safari urgent waits for our reply Ana 12 days ago" in words(html)
    assert "Docs typo in the quickstart operator spoke last 1 day ago" in words(html)


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"status": "closed"}, [4]),
        ({"status": "any"}, [5, 4, 3, 2, 1]),
        ({"status": "any", "sort": "id"}, [1, 2, 3, 4, 5]),
        ({"sort": "quietest"}, [1, 2, 5, 3]),
        ({"text": "logi"}, [1]),
        ({"text": "web", "status": "any"}, [4]),
        ({"text": "#2"}, [2]),
        ({"category": "bug"}, [5]),
        ({"assignee": " Ana "}, [5]),
        ({"label": "vip"}, [5]),
        ({"label": "vip", "category": "", "assignee": "", "text": "", "sort": "newest", "after": ""}, [5]),
        ({"text": "login\0"}, [1]),
        ({"utm_source": "mail"}, [5, 3, 2, 1]),
    ],
)
async def test_the_list_narrows_by_what_its_form_sends(house: House, query: dict[str, str], ids: list[int]) -> None:
    await house.system.db.write(a_ticket, title="x", category="bug", assignee="Ana", labels=("vip",))
    answer = await house.browser.get(LIST, params=query)
    assert (answer.status_code, rows(answer.text), house.spent) == (200, ids, 3)


async def test_pages_follow_each_other_and_lead_back_and_keep_the_filters(house: House) -> None:
    for number in range(60):
        await house.system.db.write(a_ticket, title=f"login {number}")
    first = await house.page(f"{LIST}?text=login")
    [following] = re.findall(r'rel="next" href="([^"]*)"', first)
    second = await house.page(_plain(following))
    assert rows(first) + rows(second) == [*range(64, 4, -1), 1]
    assert ">Back to the first</a>" in second
    assert f'href="{LIST}?text=login">Back' in second
    assert 'rel="next"' not in second


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"status": "lost"}, "Choose open, closed or any."),
        ({"category": "x"}, "Choose a category"),
        ({"sort": "random"}, "Choose an order"),
        ({"after": "soon"}, "This is no page of the list."),
        ({"after": "5", "sort": "quietest"}, "which is no place in the order"),
        ({"text": "a b c d e f g h i j k l m n o p q"}, "text names 17 words; at most 16 are looked for."),
        ({"text": "x" * 300}, "What to look for is at most 256 characters."),
        ({"assignee": "x" * 121}, "The assignee is at most 120"),
        ({"text": "login", "sort": "quietest"}, "What has these words comes by id."),
    ],
)
async def test_a_list_that_cannot_be_is_refused_on_its_page_with_the_form_as_it_was(
    house: House, query: dict[str, str], said: str
) -> None:
    answer = await house.browser.get(LIST, params={"label": "<vip>"} | query)
    assert (answer.status_code, said in words(answer.text)) == (422, True)
    assert 'name="label" value="&lt;vip&gt;"' in answer.text
    assert f'name="text" type="search" value="{query.get("text", "")}"' in answer.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?text=zebra", "Nothing fits. Each word is looked for at the beginning of words"),
        ("?label=zebra&status=any", "Nothing fits. Leave out a word or a filter."),
        ("?after=1", "That was all."),
    ],
)
async def test_a_list_of_nothing_says_why_and_what_to_do(house: House, query: str, said: str) -> None:
    assert said in words(await house.page(f"{LIST}{query}"))


async def test_an_empty_installation_says_so(house: House) -> None:
    with sqlite3.connect(house.system.db.path) as connection:  # type: ignore[attr-defined]
        connection.execute("DELETE FROM tickets")
    assert "No ticket is open. What comes in is listed here" in words(await house.page(LIST))
    assert "No ticket is closed." in words(await house.page(f"{LIST}?status=closed"))
    assert "There are no tickets yet." in words(await house.page(f"{LIST}?status=any"))


async def test_a_new_ticket_opens_on_its_page(house: House) -> None:
    answer = await house.post(
        LIST,
        title="Printer on fire",
        body="It burns.\r\n\r\nReally.",
        requester="Chidi",
        priority="urgent",
        category="bug",
        assignee="",
        add="hardware, third floor,, hardware ",
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/tickets/5")
    html = await house.page("/console/tickets/5")
    assert "It burns.\n\nReally.</p>" in html
    assert "#5 Printer on fire open urgent bug hardware third floor" in words(html)
    assert "Chidi opened it just now" in words(html)
    assert "waits for our reply" in words(html)
    assert "Ops &lt;On-Call&gt; opened the ticket just now" in words(html)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"title": ""}, "The title is one line"),
        ({"title": "a\r\nb"}, "The title is one line"),
        ({"title": "x" * 257}, "The title is one line of 1 to 256 characters."),
        ({"title": "ok", "body": "x" * 20_001}, "The text is at most 20,000 characters."),
        ({"title": "ok", "priority": "asap"}, "Choose a priority"),
        ({"title": "ok", "category": "asap"}, "Choose a category"),
        ({"title": "ok", "assignee": "x" * 121}, "The assignee is at most 120 characters."),
        ({"title": "ok", "add": ",".join(map(str, range(21)))}, "There are at most 20 labels"),
        ({"title": "ok", "body": "a\0b"}, "The text is"),
    ],
)
async def test_a_ticket_that_cannot_be_is_refused_on_its_form_as_it_was(
    house: House, typed: dict[str, str], said: str
) -> None:
    answer = await house.post(LIST, **{"body": "Once upon\na <time>", "add": "vip, web"} | typed)
    assert (answer.status_code, said in words(answer.text)) == (422, True)
    assert "Nothing was changed." in words(answer.text)
    assert "Once upon\na &lt;time&gt;</textarea>" in answer.text or "body" in typed
    assert ('value="vip, web"' in answer.text) or "add" in typed
    assert rows(await house.page(f"{LIST}?status=any")) == [4, 3, 2, 1]


async def test_a_ticket_costs_five_statements_whatever_happened_to_it(house: House) -> None:
    await house.sweep()
    for number in range(30):
        await house.system.db.write(tickets.comment, 1, AddComment(body=f"c{number}"), by=OPERATOR, now=NOW)
    html = await house.page(ONE)
    assert house.spent == 5
    assert html.index(">c29<") < html.index(">c0<")


async def test_a_waiting_request_leads_to_its_card(house: House) -> None:
    await house.sweep()
    html = await house.page(ONE)
    assert "triager/main asks about this ticket. Answer it in the inbox" in words(html)
    assert 'href="/?q=%231"' in html
    assert "asks about" not in words(await house.page("/console/tickets/3"))


async def test_what_requesters_wrote_is_text_and_shows_what_it_hides(house: House) -> None:
    hostile = '<img src=x onerror=alert(1)> " onmouseover="x" \u202etxt.exe \u200b'
    await house.system.db.write(
        a_comment, 2, body=f"{hostile}\nnext\tline", author_name=hostile, author_kind="requester"
    )
    await house.system.db.write(_labelled, 2, hostile)
    html = await house.page("/console/tickets/2")
    assert "<img src=x" not in html
    assert "<script>" not in html
    assert '" onmouseover' not in html
    assert not {"\u202e", "\u200b"} & set(words(html))
    assert r"\u202etxt.exe \u200b" in html
    assert "next    line" in html
    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in html


def _labelled(session: Session, ticket_id: int, *names: str) -> None:
    session.execute(insert(LabelRow), [{"ticket_id": ticket_id, "label": name} for name in names])


async def test_an_edit_writes_what_was_changed_and_nothing_else(house: House) -> None:
    await house.system.db.write(_labelled, 1, 'a, "b"\nc', "web")
    html = await house.page(ONE)
    typed = fields(html)
    kept = [label for label in typed["labels"] if "web" not in label]
    changed = {"priority": "high", "assignee": "Ana", "labels": kept, "add": "vip", "protected_until": "2026-04-01"}
    answer = await house.post(ONE, **typed | changed)
    assert (answer.status_code, answer.headers["location"]) == (303, ONE)
    ticket = (await house.system.db.read(tickets.show, 1)).ticket
    assert (ticket.priority, ticket.assignee, ticket.labels) == ("high", "Ana", ['a, "b"\nc', "vip"])
    assert (ticket.protected_until, ticket.title, ticket.version) == (
        "2026-04-01T23:59:59.999Z",
        "Login page 500s on Safari",
        2,
    )
    told = words(await house.page(ONE))
    assert "Ops &lt;On-Call&gt; changed priority normal → high, assignee to Ana, labels" in told.replace(" ,", ",")
    assert "protected until to 1 Apr, 23:59" in told


async def test_an_edit_back_to_nothing_empties_the_field(house: House) -> None:
    await edited(house, assignee="Ana", category="bug", protected_until="2026-04-01")
    await edited(house, assignee="", category="", protected_until="")
    ticket = (await house.system.db.read(tickets.show, 1)).ticket
    assert (ticket.assignee, ticket.category, ticket.protected_until) == (None, None, None)
    assert "assignee Ana → none" in words(await house.page(ONE))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({}, "The form says what it said before. Nothing was changed."),
        ({"title": " "}, "The title is one line"),
        ({"protected_until": "2026-02-30"}, "&#34;2026-02-30&#34; is no date. Nothing was changed."),
        ({"protected_until": "2026-03-08"}, "The day 2026-03-08 is over (UTC)."),
        ({"priority": "asap"}, "Choose a priority"),
        ({"assignee": "x" * 121}, "The assignee is at most"),
        ({"add": ",".join(map(str, range(21)))}, "There are at most 20 labels"),
        ({"seen": ""}, "The form was not sent as the page has it. Nothing was changed."),
        ({"seen": "{}"}, "The form was not sent as the page has it."),
        ({"labels": "web"}, "A label was not sent as the page has it."),
    ],
)
async def test_an_edit_that_cannot_be_is_refused_on_the_page_with_all_that_was_typed(
    house: House, typed: dict[str, str], said: str
) -> None:
    before = await house.system.db.read(tickets.show, 1)
    answer = await edited(house, **typed)
    assert (answer.status_code, said in words(answer.text)) == (422, True)
    form = fields(answer.text)
    assert {name: form[name] for name in typed if name not in ("seen", "labels", "priority")} == {
        name: value for name, value in typed.items() if name not in ("seen", "labels", "priority")
    }
    assert await house.system.db.read(tickets.show, 1) == before


async def test_an_edit_of_a_ticket_that_moved_is_refused_and_keeps_what_was_typed(house: House) -> None:
    typed = fields(await house.page(ONE)) | {"title": "Login is broken", "add": "vip"}
    retitled = EditTicket(title="Login fails", priority="urgent")
    await house.system.db.write(tickets.edit, 1, retitled, by=OPERATOR, now=NOW)
    answer = await house.post(ONE, **typed)
    assert answer.status_code == 409
    shown = words(answer.text)
    assert "Ticket 1 is at version 2, and not as you saw it. Nothing was changed." in shown
    assert "GET /" not in shown
    assert "Changed while you typed: title Login page 500s on Safari → Login fails priority normal → urgent" in shown
    form = fields(answer.text)
    assert (form["title"], form["add"], form["priority"]) == ("Login is broken", "vip", "urgent")
    assert (await house.post(ONE, **form)).status_code == 303  # knowing that, as it stands
    ticket = (await house.system.db.read(tickets.show, 1)).ticket
    assert (ticket.title, ticket.priority, ticket.labels) == ("Login is broken", "urgent", ["vip"])


@pytest.mark.parametrize(
    ("meanwhile", "typed"),
    [
        (EditTicket(assignee="Bo"), {"assignee": "Ana"}),
        (EditTicket(labels=["web"]), {"add": "vip"}),
        (EditTicket(category="billing"), {"category": "bug"}),
    ],
)
async def test_a_field_that_somebody_else_changed_is_not_overwritten_though_no_version_rose(
    house: House, meanwhile: EditTicket, typed: dict[str, str]
) -> None:
    form = fields(await house.page(ONE))
    await house.system.db.write(tickets.edit, 1, meanwhile, by=OPERATOR, now=NOW)
    answer = await house.post(ONE, **form | typed)
    assert (answer.status_code, "Changed while you typed" in answer.text) == (409, True)
    assert {**fields(answer.text), **typed} == fields(answer.text)


async def test_two_people_edit_different_fields_and_both_stand(house: House) -> None:
    form = fields(await house.page(ONE))
    await edited(house, assignee="Ana")
    assert (await house.post(ONE, **form | {"category": "bug"})).status_code == 303
    ticket = (await house.system.db.read(tickets.show, 1)).ticket
    assert (ticket.assignee, ticket.category) == ("Ana", "bug")


@pytest.mark.parametrize(
    ("to", "author", "public", "speaker"),
    [
        ("public", "Ops <On-Call>", True, "operator"),
        ("internal", "Ops <On-Call>", False, "operator"),
        ("requester", "Chidi", True, "requester"),
    ],
)
async def test_a_comment_is_a_reply_a_note_or_what_the_requester_said(
    house: House, to: str, author: str, public: bool, speaker: str
) -> None:
    ticket_id = await house.system.db.write(a_ticket, requester="Chidi")
    html = await house.press(f"{LIST}/{ticket_id}/comments", body=" Line one\r\nline <two> ", to=to)
    [said] = (await house.system.db.read(tickets.show, ticket_id)).comments
    assert (said.author_name, said.public, said.author_kind) == (author, public, speaker)
    assert said.body == "Line one\nline <two>"
    assert "Line one\nline &lt;two&gt;</p>" in html
    assert ('"tag wait">internal' in html) is not public


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"body": " \r\n "}, "The comment is empty. Nothing was added."),
        ({"body": "x" * 20_001, "to": "internal"}, "The text is at most 20,000 characters."),
        ({"body": "a\0b", "to": "requester"}, "The text is"),
    ],
)
async def test_a_comment_that_cannot_be_is_refused_on_the_page_as_it_was_typed(
    house: House, typed: dict[str, str], said: str
) -> None:
    answer = await house.post(f"{ONE}/comments", **typed)
    assert (answer.status_code, said in words(answer.text)) == (422, True)
    assert f'value="{typed.get("to", "public")}" checked' in answer.text
    assert len(typed["body"]) < 20_000 or "x" * 20_001 in answer.text
    assert (await house.system.db.read(tickets.show, 1)).comments == []


async def test_a_ticket_is_closed_and_reopened_as_it_was_seen(house: House) -> None:
    html = await house.press(f"{ONE}/close", version="1")
    assert "#1 Login page 500s on Safari closed" in words(html)
    assert "Closed just now by Ops &lt;On-Call&gt;" in words(html)
    assert 'name="version" value="2"' in html
    html = await house.press(f"{ONE}/reopen", version="2")
    assert "Ops &lt;On-Call&gt; reopened the ticket" in words(html)


@pytest.mark.parametrize("verb", ["close", "reopen"])
@pytest.mark.parametrize(("version", "status"), [("1", 409), ("9", 409), ("", 422), ("x", 422), ("9" * 17, 422)])
async def test_a_close_of_a_ticket_that_moved_is_refused_on_its_page(
    house: House, verb: str, version: str, status: int
) -> None:
    await house.system.db.write(tickets.comment, 1, AddComment(body="Wait"), by=OPERATOR, now=NOW)
    answer = await house.post(f"{ONE}/{verb}", version=version)
    assert (answer.status_code, "Nothing was changed." in words(answer.text)) == (status, True)
    assert "What happened" in answer.text
    assert (await house.system.db.read(tickets.show, 1)).ticket.status == "open"


async def test_who_came_first_is_seen_by_the_second(house: House) -> None:
    other = house.signed_in(OTHER_COOKIE)
    token = csrf_of((await other.get(ONE)).text)
    await house.press(f"{ONE}/close", version="1")
    answer = await other.post(f"{ONE}/close", data={"_csrf": token, "version": "1"})
    assert answer.status_code == 409
    assert "Ticket 1 is closed, at version 2. Nothing was changed." in words(answer.text)
    assert "Closed just now by Ops &lt;On-Call&gt;" in words(answer.text)


@pytest.mark.parametrize(
    "path", ["/console/tickets/99", "/console/tickets/x", "/console/tickets/01", f"{ONE}?before=x"]
)
async def test_a_ticket_or_place_that_is_not_there_is_a_page_that_says_so(house: House, path: str) -> None:
    answer = await house.browser.get(path)
    assert (answer.status_code, "text/html" in answer.headers["content-type"]) == (422 if "?" in path else 404, True)


async def test_a_long_text_is_cut_and_all_of_it_is_a_link_away(house: House) -> None:
    comment_id = await house.system.db.write(a_comment, 1, body="a" * 1999 + "bcd")
    ticket_id = await house.system.db.write(a_ticket, body="e" * 1999 + "fgh")
    html = await house.page(ONE)
    assert "ab…</p>" in html
    assert f'href="{ONE}?whole={comment_id}#c{comment_id}"' in html
    assert "abcd</p>" in await house.page(f"{ONE}?whole={comment_id}")
    assert "ef…</p>" in await house.page(f"{LIST}/{ticket_id}")
    assert "efgh</p>" in await house.page(f"{LIST}/{ticket_id}?whole=body")
    for whole in ("x", "-1", "9" * 30, "٣"):
        assert "ab…</p>" in await house.page(f"{ONE}?whole={whole}")


async def test_older_history_is_a_page_away(house: House) -> None:
    said = [{"ticket_id": 1, "author_kind": "operator", "author_name": "Ana", "public": True} for _ in range(120)]
    rows_ = [row | {"body": f"c{number}.", "created_at": ago(9 - number / 100)} for number, row in enumerate(said)]
    await house.system.db.write(lambda session: session.execute(insert(CommentRow), rows_) and None)
    first = await house.page(ONE)
    assert (">c119.<" in first, ">c20.<" in first, ">c19.<" in first) == (True, True, False)
    [older] = re.findall(rf'href="({ONE}\?before=[^"]*)">Older', first)
    second = await house.page(older)
    assert (">c19.<" in second, ">c0.<" in second, ">c20.<" in second) == (True, True, False)
    assert "Back to the newest" in second
    assert max(len(first), len(second)) < 60_000


async def test_somebody_who_may_only_look_sees_everything_and_changes_nothing(house: House) -> None:
    house.browser = house.signed_in(LOOKER_COOKIE)
    html = await house.page(ONE)
    assert "You may look, not decide." in html
    assert "Add</button>" not in html
    assert "Close ticket" not in html
    assert "New ticket" not in await house.page(LIST)
    assert "You may look, not decide." in await house.page(NEW)
    for path in (LIST, ONE, f"{ONE}/comments", f"{ONE}/close", f"{ONE}/reopen"):
        assert (await house.post(path, title="x", body="x", version="1")).status_code == 403


@pytest.mark.parametrize("path", [LIST, ONE, f"{ONE}/comments", f"{ONE}/close", f"{ONE}/reopen"])
async def test_nothing_is_done_without_the_pages_token(house: House, path: str) -> None:
    answer = await house.browser.post(path, data={"title": "x", "body": "x", "version": "1"})
    assert answer.status_code == 403
    stranger = httpx.AsyncClient(transport=house.browser._transport, base_url="http://localhost")
    assert (await stranger.post(path, data={"title": "x"})).status_code in (303, 401, 403)
    assert COOKIE not in answer.text
