"""The ticket routes on the wire: who may, what is refused, and that 3 is 3 and nothing else is."""

import pytest
from litestar import Litestar, get
from litestar.params import FromPath
from support import OPERATOR, TRIAGER, a_spent_approval, a_ticket, an_api, an_approval

from app.domain import OperationId, TicketId
from app.runtime.principal import Principal
from app.web.strict import TYPE_DECODERS, TicketIdSchema
from db.engine import Database

pytestmark = pytest.mark.anyio

READER = Principal("operator", "2", "Reader")
TOOLS_TOKEN = Principal("token", "t1", "tools")
OTHER_AGENT = Principal.agent("triagerX", "main")

NO_IDS = [
    *("0", "-1", "007", "+7", "%207", "7%20", "7.0", "1e3", "0x7", "\u0667", "1_000", "abc"),
    *("9007199254740992", "9223372036854775807", "9223372036854775808", "7" * 400),
]


@pytest.mark.parametrize("text", NO_IDS)
async def test_only_canonical_digits_name_a_ticket(database: Database, text: str) -> None:
    await database.write(a_ticket, id=7)
    api = an_api(database)
    answers = [
        await api.get(f"/tickets/{text}"),
        await api.patch(f"/tickets/{text}", json={"title": "x"}),
        await api.post(f"/tickets/{text}/comments", json={"body": "x"}),
        await api.post(f"/tickets/{text}/close", json={"version": 1}),
        await api.post(f"/tickets/{text}/reopen", json={}),
    ]
    assert [answer.status_code for answer in answers] == [404] * 5
    assert answers[0].headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=-1", "limit=-5", "limit=1000000", "limit=99999999999999999999", "limit=abc", "limit="),
        *(
            "limit=1&limit=999",
            "limit=7.0",
            "limit=1e1",
            "limit=%2B7",
            "limit=07",
            "limit=-0",
            "limit=\u0667",
            "limit=null",
        ),
        *(
            "after=0",
            "after=99999999999999999",
            "after=null",
            "after=",
            "after=-1",
            "after=x",
            "status=",
            "status=null",
            "status=OPEN",
            "category=x",
        ),
        *(
            "newest=true",
            "sort=NEWEST",
            "sort=",
            "sort=null",
            "inactive_since=2026-03-01",
            "inactive_since=",
            "text=",
            "text=%00",
        ),
        *("page=2", "Limit=5", "ticket_id=1", "scope=x", "db=x", "status=open&status=open"),
    ],
)
async def test_a_query_that_is_not_plain_is_refused(database: Database, query: str) -> None:
    answer = await an_api(database).get(f"/tickets?{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["key"] == query.partition("=")[0]


async def test_a_plain_query_is_understood(database: Database) -> None:
    for _ in range(3):
        await database.write(a_ticket, assignee="null")
    answer = await an_api(database).get(
        "/tickets",
        params={
            "status": "open",
            "assignee": "null",
            "limit": 2,
            "sort": "newest",
            "inactive_since": "2026-03-02T12:00:00.000Z",
            "after": 3,
        },
    )
    page = answer.json()
    assert ([ticket["id"] for ticket in page["tickets"]], page["next"]) == ([2, 1], None)
    assert (page["open"], page["stale"]) == (3, 3)
    assert (await an_api(database).get("/tickets")).json()["stale"] is None  # nothing was asked


async def test_the_limit_is_fifty_unless_asked(database: Database) -> None:
    for _ in range(51):
        await database.write(a_ticket)
    page = (await an_api(database).get("/tickets")).json()
    assert (len(page["tickets"]), page["next"]) == (50, "50")
    assert len((await an_api(database).get("/tickets?limit=100")).json()["tickets"]) == 51


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "got none"),
        (b"{}", 422, "missing required field `version`"),
        (b"null", 422, "Expected `object`, got `null`"),
        (b"[]", 422, "Expected `object`, got `array`"),
        (b'{"version": "1"}', 422, "Expected `int`, got `str`"),
        (b'{"version": 1.0}', 422, "Expected `int`, got `float`"),
        (b'{"version": true}', 422, "Expected `int`, got `bool`"),
        (b'{"version": 0}', 422, ">= 1"),
        (b'{"version": 9007199254740992}', 422, "<= 9007199254740991"),
        (b'{"version": 1' + b"0" * 5000 + b"}", 422, "version"),
        (b'{"version": 2, "version": 1}', 422, "`version` is there twice"),
        (b'{"version": 1, "force": true}', 422, "unknown field `force`"),
        (b'{"version": 1, "ticket_id": 2}', 422, "unknown field `ticket_id`"),
        (b'{"version": NaN}', 400, "not JSON"),
        (b'{"version": 1', 400, "not JSON"),
        (b'{"version": 1}}', 400, "not JSON"),
        (b"version=1", 400, "not JSON"),
        (b"\xff", 400, "not JSON"),
        (b'\xef\xbb\xbf{"version": 1}', 400, "not JSON"),
        (b"[" * 100_000, 422, "Expected `object`"),
    ],
)
async def test_a_body_is_taken_as_it_stands_or_refused(database: Database, body: bytes, status: int, says: str) -> None:
    await database.write(a_ticket)
    api = an_api(database)
    answer = await api.post("/tickets/1/close", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert says in answer.text
    assert "Nothing was executed" in answer.json()["detail"]
    assert (await api.get("/tickets/1")).json()["ticket"]["status"] == "open"


async def test_a_refused_body_says_where(database: Database) -> None:
    answer = await an_api(database).post("/tickets", json={"title": "x", "labels": ["a", 1]})
    assert answer.json()["errors"] == [{"key": "$.labels[1]", "message": "Expected `str`, got `int`"}]


@pytest.mark.parametrize(
    ("title", "status"),
    [
        (rb'"\ud83d"', 400),  # half a character
        (rb'"\udc68\ud83d"', 400),
        (b'"\xed\xa0\xbd"', 400),
        (rb'"a\u0000b"', 422),
        (rb'"\\\u0000"', 422),
        (rb'"a\u001b[2Jb"', 422),  # what drives a terminal, or ends a line anywhere
        (rb'"a\u0085b"', 422),
        (rb'"a\u2028b"', 422),
        (b'""', 422),
        (b'"' + b"x" * 257 + b'"', 422),
        (b'"' + b"x" * 300_000 + b'"', 422),
        (b'"' + b"x" * 256 + b'"', 201),
        (rb'"C:\\u0000"', 201),  # a backslash, then letters
        ('"👨‍👩‍👧‍👦 =1+1"'.encode(), 201),
    ],
)
async def test_a_title_is_text_that_every_database_keeps(database: Database, title: bytes, status: int) -> None:
    answer = await an_api(database).post("/tickets", content=b'{"title": ' + title + b"}")
    assert answer.status_code == status


async def test_a_body_too_large_is_not_read(database: Database) -> None:
    answer = await an_api(database).post("/tickets", content=b" " * 11_000_000)
    assert (answer.status_code, answer.json()["title"]) == (413, "Request Entity Too Large")


async def test_the_life_of_a_ticket_over_http(database: Database) -> None:
    api = an_api(database)
    created = await api.post("/tickets", json={"title": "Printer on fire", "requester": "Ana", "labels": ["hw"]})
    assert (created.status_code, created.json()["id"]) == (201, 1)
    edited = await api.patch("/tickets/1", json={"priority": "high", "assignee": None, "version": 1})
    assert (edited.status_code, edited.json()["priority"]) == (200, "high")
    said = await api.post("/tickets/1/comments", json={"body": "Out now?", "public": True})
    assert (said.status_code, said.json()["author_kind"]) == (201, "operator")
    closed = await api.post("/tickets/1/close", json={"version": 2})
    assert (closed.status_code, closed.json()["closed_by"]) == (200, "Ops On-Call")
    again = await api.post("/tickets/1/close", json={"version": 2})
    assert (again.status_code, again.json()["state"]) == (409, "closed")
    reopened = await api.post("/tickets/1/reopen", json={})
    assert (reopened.status_code, reopened.json()["version"]) == (200, 4)
    shown = (await api.get("/tickets/1")).json()
    assert shown["ticket"] == reopened.json()
    assert shown["comments"] == [said.json()]
    assert shown["body"] == ""


@pytest.mark.parametrize(
    ("by", "read", "write", "close"),
    [
        (None, 401, 401, 401),
        (READER, 200, 403, 403),
        (TOOLS_TOKEN, 200, 403, 200),
        (TRIAGER, 200, 403, 200),
        (OTHER_AGENT, 200, 403, 403),
        (OPERATOR, 200, 200, 200),
    ],
)
async def test_each_caller_may_do_what_is_theirs(
    database: Database, by: Principal | None, read: int, write: int, close: int
) -> None:
    await database.write(a_ticket)
    api = an_api(database, by=by)
    assert (await api.get("/tickets")).status_code == read
    assert (await api.get("/tickets/1")).status_code == read
    assert (await api.patch("/tickets/1", json={"assignee": "Bo"})).status_code == write
    assert (await api.post("/tickets/1/close", json={"version": 1})).status_code == close
    if write != 200:
        refused = [
            await api.post("/tickets", json={"title": "x"}),
            await api.post("/tickets/1/comments", json={"body": "x"}),
            await api.post("/tickets/1/reopen", json={}),
        ]
        assert {answer.status_code for answer in refused} == {write}


async def test_a_close_spends_the_approval_it_carries(database: Database) -> None:
    await database.write(a_ticket)
    request_id = OperationId(await database.write(a_spent_approval))
    api = an_api(database, by=TRIAGER, operation=request_id)
    assert (await api.post("/tickets/1/close", json={"version": 1})).status_code == 200
    assert (await api.post("/tickets/1/close", json={"version": 1})).status_code == 409


async def test_an_approval_nobody_spent_closes_nothing(database: Database) -> None:
    await database.write(a_ticket)
    request_id = OperationId(await database.write(an_approval))
    answer = await an_api(database, by=TRIAGER, operation=request_id).post("/tickets/1/close", json={"version": 1})
    assert answer.status_code == 409


def test_the_schema_says_what_a_ticket_id_is() -> None:
    @get("/tickets/{ticket_id:str}", sync_to_thread=False)
    def show(ticket_id: FromPath[TicketId]) -> None: ...

    app = Litestar([show], plugins=[TicketIdSchema()], type_decoders=TYPE_DECODERS, logging_config=None)
    [parameter] = app.openapi_schema.to_schema()["paths"]["/tickets/{ticket_id}"]["get"]["parameters"]
    assert parameter["schema"] | {"description": ""} == {
        "type": "integer",
        "minimum": 1,
        "maximum": 2**53 - 1,
        "description": "",
    }
