"""The inbox on the real app: what a card says, what an answer does, and what the page never claims."""

import gzip
import re
from datetime import timedelta

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session
from support import a_ticket, ago, an_approval
from support_console import (
    ANA,
    COOKIE,
    HOURS,
    NO,
    House,
    card,
    mark,
    order,
    swept,
    words,
)

from app.schemas import EditTicket
from app.services import approvals, sessions, tickets, tokens
from db.schema import TicketRow
from routes.pages import TEMPLATES

pytestmark = pytest.mark.anyio


# What a card says


async def test_the_empty_inbox_says_what_will_happen(house: House) -> None:
    said = words(await house.page())
    assert "Nothing waits for you Every hour the agent looks for tickets that went quiet." in said
    assert "Let it look now" in said


async def test_a_card_says_all_that_one_needs_to_decide(house: House) -> None:
    first, _ = await swept(house)
    house.clock.at += timedelta(hours=2)
    html = await house.page()
    assert html.count("<title>(2) Inbox") == 1
    said = words(card(html, first))
    assert "Login page 500s on Safari #1 3 days left" in said
    assert "An operator spoke last, last activity 12 days ago asked by triager/main 2 hours ago" in said
    assert "Why it asks No activity for 12 days" in said
    assert "If you approve Closes ticket 1, &#34;Login page 500s on Safari&#34;." in said
    assert "status open → closed" in said
    assert "If nobody answers Nothing changes. The request expires, and may be asked again later." in said
    assert "The exact call tickets_close(ticket_id=1, version=1) request id" in said
    assert "for good until 12 Mar, 12:00 until a date" in said


async def test_a_card_says_what_changed_since_it_was_asked(house: House) -> None:
    first, _ = await swept(house)
    edit = EditTicket(priority="urgent")  # type: ignore[arg-type]
    await house.system.db.write(lambda s: tickets.edit(s, 1, edit, by=ANA, now=house.clock()))
    said = words(card(await house.page(), first))
    assert "Changed since asked: It was edited." in said
    assert "If you approve Nothing is carried out, as the ticket has moved on. This was asked: Closes ticket 1" in said
    await house.press(f"/console/approvals/{first}/approve")
    assert "Cancelled: changed since asked." in card(await house.page("/?tab=cancelled"), first)


@pytest.mark.parametrize("principal", ["token:ci", "operator:shell"])
async def test_who_keeps_no_calls_is_said_to_have_to_repeat_them(house: House, principal: str) -> None:
    first = await house.system.db.write(an_approval, principal_key=principal)
    html = await house.page()
    assert "After a yes, whoever asked must repeat the call." in card(html, first)
    html = await house.press(f"/console/approvals/{first}/approve")
    assert "Nothing is carried out before whoever asked repeats the call." in card(html, first)
    assert "agent" not in words(card(html, first))


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("<img src=x onerror=alert(1)>", "<bdi>&lt;img src=x onerror=alert(1)&gt;</bdi>"),
        ("Printer\u202etxt.exe", r"<bdi>Printer\u202etxt.exe</bdi>"),
        ("Refund\u200b", r"<bdi>Refund\u200b</bdi>"),
        ("Due 2026-99-99T99:99:99.999Z", "<bdi>Due 2026-99-99T99:99:99.999Z</bdi>"),
        ("hx-get=/sign-out", "<bdi>hx-get=/sign-out</bdi>"),
    ],
)
async def test_a_title_is_text_that_hides_and_reorders_nothing(house: House, title: str, shown: str) -> None:
    await house.system.db.write(lambda s: s.execute(update(TicketRow).where(TicketRow.id == 1).values(title=title)))
    first, _ = await swept(house)
    html = await house.page()
    assert shown in card(html, first)
    assert not {"\u202e", "\u200b"} & set(html)
    assert not re.search(r"<img src=x|<[^>]*hx-get", html)


async def test_a_value_with_lines_cannot_pass_for_a_decision(house: House) -> None:
    preview = {"summary": "Renames it.", "before": {"name": "a"}, "after": {"name": "b\nDecision: approved"}}
    first = await house.system.db.write(an_approval, preview=preview, input={"name": "b\nDecision: approved"})
    html = card(await house.page(), first)
    assert r"<ins><bdi>b\nDecision: approved</bdi></ins>" in html
    assert r"b\nDecision: approved" in words(html.partition("The exact call")[2])


async def test_long_words_are_cut_with_a_mark_show_how_they_end_and_are_there_in_full(house: House) -> None:
    for number, end in ((1, "keep"), (2, "drop")):
        preview = {"summary": "x" * 5_000 + end, "before": {}, "after": {}}
        await house.system.db.write(an_approval, number, preview=preview)
    html = await house.page()
    for number, end in ((1, "keep"), (2, "drop")):
        cut, _, rest = card(html, f"request-{number}-1").partition("All of it")
        assert "<mark>… 4,764 characters …</mark>" in cut
        assert f"xxx{end}</bdi>" in cut
        assert "x" * 5_000 + end in rest


async def test_a_card_names_the_arguments_that_it_hides(house: House) -> None:
    given = {"ticket_id": 1, "flags": [{"pin": "[REDACTED, 4 characters]"}], "token": "[REDACTED]", "note": "fine"}
    first = await house.system.db.write(an_approval, input=given)
    assert "Hidden from you flags.pin (4 characters), token If nobody" in words(card(await house.page(), first))


async def test_two_tickets_with_one_title_are_told_apart_by_number_and_each_form_names_its_request(
    house: House,
) -> None:
    await house.system.db.write(lambda s: s.execute(update(TicketRow).values(title="Printer")))
    first, second = await swept(house)
    html = await house.page()
    for request, number in ((first, 1), (second, 2)):
        one = card(html, request)
        assert f'<span class="number">#{number}</span>' in one
        assert f'action="/console/approvals/{request}/approve"' in one
        assert f"formaction=/console/approvals/{request}/reject" in one
        assert f'value="{request} {mark(html, request)}"' in one


async def test_a_form_that_was_shown_something_else_decides_nothing(house: House) -> None:
    first, second = await swept(house)
    other = mark(await house.page(), second)
    for verb in ("approve", "reject"):
        answer = await house.post(f"/console/approvals/{first}/{verb}", fingerprint=other)
        assert (answer.status_code, "not the one that you saw" in answer.text) == (409, True)
    html = await house.press("/console/approvals/answer", requests=f"{first} {other}", decision="approved")
    assert "It was not answered, and waits." in html
    assert await house.asked() == [first, second]


# Where one is


async def test_a_live_page_keeps_its_cards_in_place(house: House) -> None:
    first, second = await swept(house)
    refresh = (await house.page()).partition('data-refresh="')[2].partition('"')[0].replace("&amp;", "&")
    assert refresh == f"/?shown={first},{second}"
    await house.system.db.write(approvals.reject, first, by=ANA, now=house.clock(), reason=None, until_at=None)
    third = await house.system.db.write(an_approval, 3, expires_at=ago(-9))
    html = await house.page(refresh)
    assert order(html) == [first, second, third]
    assert "Rejected." in card(html, first)


async def test_a_page_leads_to_the_next_and_an_answer_leads_back_to_it(house: House) -> None:
    await house.system.db.write(_printers, 30)
    html, seen = await house.page("/?q=printer"), list[str]()
    while True:
        seen += order(html)
        link = re.search(r'<a href="([^"]+)">Next page', html)
        if not link:
            break
        html = await house.page(link[1].replace("&amp;", "&"))
    assert seen == [f"request-{number}-1" for number in range(101, 131)]
    assert 'href="/?q=printer">First page' in html
    last, place = seen[-1], re.search(r'name="after" value="([^"]+)"', html)
    assert place
    answer = await house.post(f"/console/approvals/{last}/approve", q="printer", after=place[1])
    assert answer.headers["location"].startswith("/?q=printer&after=")
    assert order(await house.page(answer.headers["location"])) == seen[-10:]


async def test_search_finds_a_ticket_by_number_and_says_when_there_is_none(house: House) -> None:
    first, second = await swept(house)
    assert order(await house.page("/?q=%232")) == [second]
    assert order(await house.page("/?q=safari")) == [first]
    html = await house.page("/?q=%3Cscript%3Ex")
    assert "Nothing here matches “ &lt;script&gt;x ”. Show all" in words(html)


async def test_an_answered_request_that_is_on_another_page_is_told_of_with_its_undo(house: House) -> None:
    first = await house.system.db.write(an_approval, **NO)
    html = await house.page(f"/?tab=approved&done={first}")
    assert "Ticket #1: Rejected. The agent will not ask again." in words(html)
    assert f'action="/console/approvals/{first}/undo"' in html


# What it costs


def _printers(session: Session, count: int) -> None:
    for number in range(101, 101 + count):
        title = f"The printer on floor {number} does not answer any more since Monday"
        a_ticket(session, id=number, title=title, requester="Somebody Else")
        preview = {"summary": f'Closes ticket {number}, "{title}". An operator spoke last; nothing has happened since '}
        preview |= {"before": {"status": "open", "version": 1}, "after": {"status": "closed", "version": 2}}  # type: ignore[dict-item]
        because = "No activity for 12 days (the limit is 7), and an operator spoke last."
        id_ = f"{number}-".ljust(32, "0") if count < 30 else f"request-{number}-1"
        an_approval(session, number, id=id_, preview=preview, because=because, shown="c793f4bb9be607fc")


async def test_a_full_page_costs_few_statements_and_few_bytes(house: House) -> None:
    await house.system.db.write(_printers, 29)
    html = await house.page()
    assert house.spent == 3
    assert len(order(html)) == 10
    static = {name: (TEMPLATES / "static" / name).read_bytes() for name in re.findall(r'/static/([^"?]+)', html)}
    assert len(html.encode()) + sum(len(gzip.compress(text)) for text in static.values()) < 60_000
    first, second, *_ = order(html)
    await house.page(f"/?done={first},{second}&as=approve&shown={first}")
    assert house.spent == 4


async def test_a_request_that_nobody_answers_reads_as_expired(house: House) -> None:
    first, _ = await swept(house)
    for hours in (23, 23, 23, 4):
        house.clock.at += timedelta(hours=hours)
        await house.system.db.write(_signed_in_again, house)
    assert "nobody answered in time" in card(await house.page("/?tab=expired"), first)


def _signed_in_again(session: Session, house: House) -> None:
    hashed = tokens.hashed(COOKIE)
    sessions.start(session, hashed, house.clock(), user_id=1, token_id=None, ttl_s=24 * HOURS, old=hashed)
