"""The inbox on the real app: what an answer does, how it is undone, and what the page never claims."""

from typing import Any

import pytest
from sqlalchemy import select
from support import ago, an_approval
from support_console import ANA, LOOKER_COOKIE, NO, OTHER_COOKIE, YES, House, card, mark, order, swept, words

from app.schemas import EditTicket
from app.services import approvals, tickets
from db.schema import TicketRow

pytestmark = pytest.mark.anyio


async def test_an_approved_ticket_is_closed_and_its_card_says_so_in_its_place(house: House) -> None:
    first, second = await swept(house)
    html = await house.page()
    assert order(html) == [first, second]
    answer = await house.post(
        f"/console/approvals/{first}/approve", reason="Fixed in 4.2", fingerprint=mark(html, first)
    )
    assert (answer.status_code, answer.headers["location"]) == (303, f"/?done={first}&as=approve")
    html = await house.page(answer.headers["location"])
    assert order(html) == [first, second]
    said = words(card(html, first))
    assert "carried out Approved. It was carried out. Ops &lt;On-Call&gt; , just now Fixed in 4.2" in said
    assert "(1) Inbox" in html
    assert "/?tab=approved" in html
    assert order(await house.page()) == [second]
    assert order(await house.page("/?tab=approved")) == [first]


@pytest.mark.parametrize(
    ("fields", "said", "until_at"),
    [
        ({}, "Rejected. The agent will not ask again.", None),
        ({"until": "always", "date": ""}, "Rejected. The agent will not ask again.", None),
        ({"until": "window", "date": ""}, "remembered until 12 Mar, 12:00", ago(-3)),
        ({"until": "date", "date": "2026-03-20"}, "remembered until 20 Mar, 23:59", "2026-03-20T23:59:59.999Z"),
        ({"until": "date", "date": "2026-03-09"}, "The agent may ask again after that.", "2026-03-09T23:59:59.999Z"),
    ],
)
@pytest.mark.parametrize("many", [False, True])
async def test_a_no_lasts_as_long_as_the_form_says(
    house: House, fields: dict[str, str], said: str, until_at: str | None, many: bool
) -> None:
    first, _ = await swept(house)
    if many:
        seen = f"{first} {mark(await house.page(), first)}"
        html = await house.press("/console/approvals/answer", requests=seen, decision="rejected", **fields)
    else:
        html = await house.press(f"/console/approvals/{first}/reject", **fields)
    assert said in words(card(html, first))
    page = await house.system.db.read(approvals.listing, house.clock())
    assert [(one.id, one.until_at) for one in page.declined or ()] == [(first, until_at)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"until": "date"}, "Choose both"),
        ({"until": "date", "date": "2026-02-30"}, "&#34;2026-02-30&#34; is no date. Nothing was decided."),
        ({"until": "date", "date": "soon"}, "is no date. Nothing was decided. Choose a day"),
        ({"until": "date", "date": "20260401"}, "is no date"),
        ({"until": "date", "date": "2026-03-08"}, "The day 2026-03-08 is over (UTC). Nothing was decided."),
        ({"until": "date", "date": "٢٠٢٦-04-01"}, "is no date"),
        ({"until": "always", "date": "2026-03-20"}, "Choose both"),
        ({"until": "window", "date": "2026-03-20"}, "Choose both"),
        ({"until": "never"}, "until"),
    ],
)
async def test_a_no_whose_end_makes_no_sense_is_refused_on_a_page(
    house: House, fields: dict[str, str], said: str
) -> None:
    first, second = await swept(house)
    for path in (f"/console/approvals/{first}/reject", "/console/approvals/answer"):
        answer = await house.post(path, requests=f"{first} {mark(await house.page(), first)}", **fields)
        assert (answer.status_code, said in answer.text) == (422, True)
    assert await house.asked() == [first, second]


async def test_several_are_answered_together_and_each_says_what_became_of_it(house: House) -> None:
    first, second = await swept(house)
    html = await house.page()
    seen = [f"{one} {mark(html, one)}" for one in (first, second)]
    await house.system.db.write(
        approvals.reject, first, by=ANA, now=house.clock(), reason="Still broken", until_at=None
    )
    html = await house.press("/console/approvals/answer", requests=seen, decision="approved", reason="Quiet")
    assert "Ticket #1: Ana was first. Rejected." in words(html)
    assert "Rejected. The agent will not ask again. Ana , just now Still broken" in words(card(html, first))
    assert "Approved. It was carried out. Ops &lt;On-Call&gt; , just now Quiet" in words(card(html, second))
    assert words(html).count("was first") == 1


@pytest.mark.parametrize("requests", [[], [f"id{number} x" for number in range(51)]])
async def test_none_selected_and_too_many_are_refused(house: House, requests: list[str]) -> None:
    answer = await house.post("/console/approvals/answer", requests=requests, decision="approved")
    assert (answer.status_code, "Select between 1 and 50 requests. Nothing was decided." in answer.text) == (422, True)


async def test_every_checkbox_belongs_to_the_form_that_answers_several(house: House) -> None:
    await swept(house)
    html = await house.page()
    assert html.count('form="many"') == 2
    assert '<form method="post" action="/console/approvals/answer" class="many" id="many"' in html


async def test_a_second_answer_is_refused_on_the_page_and_names_who_was_first(house: House) -> None:
    first, _ = await swept(house)
    await house.press(f"/console/approvals/{first}/reject")
    house.browser = house.signed_in(OTHER_COOKIE)
    answer = await house.post(f"/console/approvals/{first}/approve")
    assert answer.status_code == 409
    assert 'class="alert bad">This request is rejected by Ops &lt;On-Call&gt; already.' in answer.text
    assert await house.system.db.read(lambda s: s.scalar(select(TicketRow.status).where(TicketRow.id == 1))) == "open"


async def test_getting_an_address_of_an_answer_decides_nothing(house: House) -> None:
    first, second = await swept(house)
    for path in (f"{first}/approve", f"{first}/reject", f"{first}/undo", "answer"):
        assert (await house.browser.get(f"/console/approvals/{path}")).status_code in (404, 405)
    await house.page(f"/?done={first}&as=approve")
    assert await house.asked() == [first, second]


async def test_a_request_that_is_not_there_is_refused_on_the_page(house: House) -> None:
    answer = await house.post("/console/approvals/nope/approve")
    assert (answer.status_code, "There is no such request." in answer.text) == (404, True)


# What was answered can be undone


async def test_an_undone_close_reopens_the_ticket_and_the_card_says_so(house: House) -> None:
    first, _ = await swept(house)
    html = await house.press(f"/console/approvals/{first}/approve")
    assert "The ticket is opened again, which counts as activity. Undo" in words(card(html, first))
    html = await house.press(f"/console/approvals/{first}/undo")
    assert "Approved. It was carried out; the ticket is open again." in card(html, first)
    assert "/undo" not in card(html, first)
    answer = await house.post(f"/console/approvals/{first}/undo")
    assert answer.status_code == 409


async def test_nothing_is_undone_once_the_ticket_has_moved_on(house: House) -> None:
    first, _ = await swept(house)
    html = await house.press(f"/console/approvals/{first}/approve")
    edit = EditTicket(title="Login")
    await house.system.db.write(lambda s: tickets.edit(s, 1, edit, by=ANA, now=house.clock()))
    answer = await house.post(f"/console/approvals/{first}/undo")
    assert (answer.status_code, "not as that close left it" in answer.text) == (409, True)
    assert "/undo" in card(html, first)
    assert "/undo" not in card(await house.page("/?tab=approved"), first)


async def test_a_yes_that_is_not_spent_yet_is_taken_back(house: House) -> None:
    first = await house.system.db.write(an_approval, **YES)
    html = await house.press(f"/console/approvals/{first}/undo", tab="approved")
    assert "Cancelled: undone. Nothing was carried out." in words(html)
    assert order(await house.page("/?tab=cancelled")) == [first]


async def test_a_no_is_forgotten(house: House) -> None:
    first, _ = await swept(house)
    html = await house.press(f"/console/approvals/{first}/reject")
    assert "Let it ask again" in card(html, first)
    html = await house.press(f"/console/approvals/{first}/undo", tab="rejected")
    assert "Rejected, and forgotten since: the agent may ask again." in card(html, first)
    answer = await house.post(f"/console/approvals/{first}/ask-again")
    assert (answer.status_code, "no rejection stands" in answer.text) == (409, True)


# What the page never claims


@pytest.mark.parametrize("as_", ["", "approve", "reject", "undo"])
async def test_a_link_says_nothing_that_did_not_happen(house: House, as_: str) -> None:
    first, _ = await swept(house)
    for done in ("approved", "nope", f"{first},nope", first):
        said = words((await house.page(f"/?done={done}&as={as_}")).partition('id="said"')[2].partition("<h1")[0])
        assert "Approved" not in said
        assert "Rejected" not in said
    assert (await house.browser.get(f"/?done={first}&as=closed")).status_code == 422


async def test_a_rejected_request_over_a_ticket_that_somebody_closed_says_both(house: House) -> None:
    first, _ = await swept(house)
    await house.press(f"/console/approvals/{first}/reject")
    await house.system.db.write(lambda s: tickets.close(s, 1, 1, by=ANA, now=house.clock()))
    html = card(await house.page("/?tab=rejected"), first)
    assert "Rejected. The agent will not ask again. The ticket is closed all the same, by Ana." in words(html)


async def test_nothing_is_promised_while_agents_are_halted(house: House) -> None:
    asked = await house.system.db.write(an_approval, 1)
    first = await house.system.db.write(an_approval, 2, **YES)
    await house.post("/console/halt")
    html = await house.page(f"/?done={first}")
    assert "Approved. Nothing is carried out before somebody resumes what is halted." in words(html)
    assert "It cannot be answered now: Every agent is halted by Ops &lt;On-Call&gt;" in words(card(html, asked))
    assert "<form" not in card(html, asked)


async def test_somebody_who_may_only_look_sees_one_line_and_no_dead_buttons(house: House) -> None:
    first, second = await swept(house)
    await house.system.db.write(an_approval, 3, **NO)
    house.browser = house.signed_in(LOOKER_COOKIE)
    for path in ("/", "/?tab=rejected"):
        html = await house.page(path)
        assert html.count("You may look, not decide.") == 1
        assert "/console/approvals/" not in html
    for verb in ("approve", "reject", "undo"):
        assert (await house.post(f"/console/approvals/{first}/{verb}")).status_code == 403
    assert (
        await house.post("/console/approvals/answer", decision="approved", requests=f"{first} x")
    ).status_code == 403
    assert await house.asked() == [first, second]


@pytest.mark.parametrize(
    ("tab", "columns", "said"),
    [
        (
            "approved",
            YES,
            "Approved. The agent carries it out within seconds. Ana , just now usable until 10 Mar, 12:00",
        ),
        ("approved", YES | {"claim_id": "c", "consumed_at": ago(0)}, "It is being carried out."),
        ("approved", YES | {"claim_id": "c", "ended": "unknown", "ended_at": ago(0)}, "needs a look Approved. It may"),
        ("rejected", NO | {"until_at": ago(-9)}, "Rejected for a time. The agent may ask again after that."),
        ("expired", {"requested_at": ago(4), "expires_at": ago(1)}, "Expired: nobody answered in time."),
        ("expired", YES | {"use_by": ago(0.1)}, "Expired: the yes was not used in time."),
        (
            "cancelled",
            {"ended": "cancelled", "ended_at": ago(0), "ended_reason": "changed since asked"},
            "Cancelled: changed since asked. Nothing was carried out.",
        ),
    ],
)
async def test_each_tab_says_what_became_of_its_requests(
    house: House, tab: str, columns: dict[str, Any], said: str
) -> None:
    first = await house.system.db.write(an_approval, **columns)
    assert said in words(card(await house.page(f"/?tab={tab}"), first))
    for other in {"waiting", "approved", "rejected", "expired", "cancelled"} - {tab}:
        assert order(await house.page(f"/?tab={other}")) == []


async def test_nobody_is_told_to_be_second_to_themselves(house: House) -> None:
    """A yes to a ticket that has moved on meanwhile is cancelled; the only one who answered hears why."""
    first, _ = await swept(house)
    edit = EditTicket(title="Login page 500s on Safari 26")
    await house.system.db.write(tickets.edit, 1, edit, by=ANA, now=house.clock())
    html = words(await house.press(f"/console/approvals/{first}/approve"))
    assert "Cancelled: changed since asked. Nothing was carried out." in html
    assert "was first" not in html
