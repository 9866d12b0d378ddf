"""The inbox: every request to a person, tab by tab, and the person's answers."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, URLEncodedBody
from msgspec import Meta

from app.auth import operator
from app.runtime.instants import after
from app.schemas import ApprovalOut, Tab
from app.services import approval_list
from routes.answers import Answers
from routes.console.answer_forms import MANY, Answer, As, Here, Many, No, Query, until_at
from routes.console.desk import Desk
from routes.notices import became, hidden_in, said

CARDS = 10  # of a page: so it stays under 10 ms of CPU, and with all it needs under 60 KB over the wire
SOON_S = 12 * 3600  # a request with less time than this is marked
Ids = Annotated[str, Meta(max_length=MANY * 65)]  # with commas between


async def _page(
    desk: Desk, here: Here, notice: str | None = None, status: int = 200, done: str = "", as_: As = "", shown: str = ""
) -> Response[str]:
    named, kept = _ids(done), [*dict.fromkeys(_ids(shown) + _ids(done))]
    queue = await desk.db.read(
        approval_list.queue, here.tab, desk.now, search=here.q, after=here.after or None, shown=kept, limit=CARDS
    )
    found = await desk.db.read(approval_list.named, named, desk.now) if named else []
    on_page = [card.request.id for card in queue.cards]
    return await desk.show(
        "inbox.html",
        notice=notice,
        status=status,
        here=here,
        queue=queue,
        named=found,
        meant=as_,
        said=said,
        became=became,
        hidden_in=hidden_in,
        on_page=on_page,
        soon=after(desk.now, SOON_S),
        refresh=here.link(shown=",".join(on_page), done=done, **{"as": as_}),
    )


def _ids(text: str) -> list[str]:
    return [one for one in text.split(",") if one][:MANY]


@get("/", name="console.index", budget=4)
async def index(
    desk: NamedDependency[Desk],
    tab: FromQuery[Tab] = "waiting",
    q: FromQuery[Query] = "",
    place: Annotated[Query, QueryParameter(name="after")] = "",
    done: FromQuery[Ids] = "",
    as_: Annotated[As, QueryParameter(name="as")] = "",
    shown: FromQuery[Ids] = "",
) -> Response[str]:
    """`done` names requests: the page finds anew how they stand, since a link could say what did not happen.

    `as` is what was meant. `shown` are on a page already, and keep their places.
    """
    return await _page(desk, Here(tab, q.strip(), place), done=done, as_=as_, shown=shown)


@post(
    "/console/approvals/{request_id:str}/approve", name="console.approve", budget=3, guards=[operator], status_code=200
)
async def approve(
    request_id: FromPath[str],
    data: URLEncodedBody[Answer],
    desk: NamedDependency[Desk],
    answers: NamedDependency[Answers],
) -> Response[Any]:
    yes = answers.approve(request_id, data.reason, data.fingerprint)
    return await desk.act(yes, then=_led(data, request_id, "approve"), on=partial(_page, desk, data))


@post("/console/approvals/{request_id:str}/reject", name="console.reject", budget=3, guards=[operator], status_code=200)
async def reject(
    request_id: FromPath[str], data: URLEncodedBody[No], desk: NamedDependency[Desk], answers: NamedDependency[Answers]
) -> Response[Any]:
    async def no() -> ApprovalOut:
        until, window = until_at(data, desk.now), data.until == "window"
        return await answers.reject(
            request_id, data.reason, until, until_window_ends=window, fingerprint=data.fingerprint
        )

    return await desk.act(no(), then=_led(data, request_id, "reject"), on=partial(_page, desk, data))


@post("/console/approvals/answer", name="console.answer", budget=3, guards=[operator], status_code=200)
async def answer_many(
    data: URLEncodedBody[Many], desk: NamedDependency[Desk], answers: NamedDependency[Answers]
) -> Response[Any]:
    async def all_of_them() -> None:
        until, window = until_at(data, desk.now), data.until == "window"
        await answers.many(data.decision, data.seen, data.reason, until, until_window_ends=window)

    def led(_: None) -> str:
        meant: As = "approve" if data.decision == "approved" else "reject"
        return _led(data, ",".join(id_ for id_, _ in data.seen), meant)(None)

    return await desk.act(all_of_them(), then=led, on=partial(_page, desk, data))


@post("/console/approvals/{request_id:str}/undo", name="console.undo", budget=5, guards=[operator], status_code=200)
async def undo(
    request_id: FromPath[str],
    data: URLEncodedBody[Here],
    desk: NamedDependency[Desk],
    answers: NamedDependency[Answers],
) -> Response[Any]:
    return await desk.act(answers.undo(request_id), then=_led(data, request_id, "undo"), on=partial(_page, desk, data))


@post(
    "/console/approvals/{request_id:str}/ask-again",
    name="console.ask_again",
    budget=3,
    guards=[operator],
    status_code=200,
)
async def ask_again(
    request_id: FromPath[str], desk: NamedDependency[Desk], answers: NamedDependency[Answers]
) -> Response[Any]:
    here = Here("rejected")
    return await desk.act(answers.ask_again(request_id), then=_led(here, request_id), on=partial(_page, desk, here))


def _led(here: Here, ids: str, meant: As = "") -> Callable[[Any], str]:
    """The page finds anew how the requests stand: a link that says what happened could say what did not."""
    return lambda _: here.link(done=ids, **{"as": meant})


routes = (index, approve, reject, answer_many, undo, ask_again)
