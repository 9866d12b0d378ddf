"""What can be called, what a call takes, and which route it reaches."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar
from litestar.params import FromPath, JSONBody
from sqlalchemy.orm import Session

from app.domain import TicketId
from app.main import look
from app.runtime.errors import WiringError
from app.runtime.tools.agent_route import get, post
from app.runtime.tools.catalog import Catalog
from app.runtime.tools.results import Done
from app.schemas import CloseTicket, Preview
from tests.support_tools import a_depot

ANSWERING = {"approvals", "console", "session", "agents"}


def an_app(*handlers: Any) -> Litestar:
    return Litestar(handlers, openapi_config=None, logging_config=None)


def test_the_tools_of_the_product_are_two_routes() -> None:
    tools = {tool.name: tool for tool in look().catalog}
    assert {name: (tool.method, tool.path, tool.gated) for name, tool in tools.items()} == {
        "tickets_index": ("GET", "/tickets", False),
        "tickets_close": ("POST", "/tickets/{ticket_id}/close", True),
    }


def test_a_tool_that_reads_is_a_get() -> None:
    assert {tool.name: tool.read_only for tool in look_once()} == {"tickets_index": True, "tickets_close": False}


def test_no_route_that_answers_a_request_is_a_tool() -> None:
    assert not [tool.name for tool in look().catalog if tool.name.partition("_")[0] in ANSWERING]


def test_the_schema_of_the_close_tool_is_path_and_body_together() -> None:
    close = look().catalog.get("tickets_close")
    assert close.sources == {"ticket_id": "path", "version": "body"}
    schema = close.input_schema
    assert set(schema["required"]) == {"ticket_id", "version"}
    assert schema["additionalProperties"] is False
    number = {"type": "integer", "minimum": 1, "maximum": 2**53 - 1, "description": TicketId.__doc__}
    assert schema["properties"]["ticket_id"] == number
    assert schema["properties"]["version"]["minimum"] == 1
    assert close.output_schema["properties"]["status"]


def test_the_handlers_own_dependencies_are_no_arguments() -> None:
    taken = look().catalog.get("tickets_index").sources
    assert set(taken.values()) == {"query"}
    assert not {"db", "now", "by", "operation", "host", "settings", "scope"} & taken.keys()


@pytest.mark.parametrize("ticket_id", [0, -1, 2**53, "41", 41.0, True, None, [41]])
def test_a_ticket_id_is_a_whole_number_of_json(ticket_id: Any) -> None:
    with pytest.raises(ValueError, match="ticket_id"):
        look_once().get("tickets_close").validate({"ticket_id": ticket_id, "version": 1})


def test_defaults_are_filled_in() -> None:
    valid = look_once().get("tickets_index").validate({"status": "open"})
    assert (valid["status"], valid["limit"], valid["sort"], valid["label"]) == ("open", 50, "id", None)


_catalog: list[Catalog] = []


def look_once() -> Catalog:
    if not _catalog:
        _catalog.append(look().catalog)
    return _catalog[0]


def test_two_routes_cannot_claim_one_name() -> None:
    @get("/a", name="things.list_all").agent(description="One.")
    async def one() -> str: ...

    @get("/b", name="things.list.all").agent(description="Other.")
    async def other() -> str: ...

    with pytest.raises(WiringError, match='Two routes claim the tool name "things_list_all"'):
        Catalog.of(an_app(one, other))


def test_a_tool_needs_the_name_of_a_route() -> None:
    @get("/a").agent(description="One.")
    async def nameless() -> str: ...

    with pytest.raises(WiringError, match="no name"):
        Catalog.of(an_app(nameless))


def test_a_preview_needs_a_database() -> None:
    def preview(session: Session) -> Preview: ...

    @get("/a", name="things.one").agent(description="One.", preview=preview)
    async def one() -> str: ...

    with pytest.raises(WiringError, match=r"things\.one has a preview, so its handler must take `db`"):
        Catalog.of(an_app(one))


def test_the_mark_leaves_the_route_what_it_was() -> None:
    def declare(mark: Callable[[Any], Any]) -> Any:
        @mark(post("/tickets/{ticket_id:str}/close", name="tickets.close", status_code=200))
        async def close(ticket_id: FromPath[TicketId], data: JSONBody[CloseTicket]) -> str: ...

        return close

    plain, marked = declare(lambda route: route), declare(lambda route: route.agent(description="Close."))
    for name in ("paths", "http_methods", "name", "status_code", "guards"):
        assert getattr(plain, name) == getattr(marked, name)


@pytest.mark.anyio
@pytest.mark.parametrize("label", ["blue", "two words", "ü", "50%", "a%2Fb", "a?force=1", "a#x", "..x", "a+b", "a&b"])
async def test_a_path_argument_reaches_its_route_as_it_is(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        result = await depot.tools.call("parcels_find", {"label": label})
        assert isinstance(result, Done)
        assert result.outcome.body == {"label": label}


@pytest.mark.anyio
@pytest.mark.parametrize(
    "label",
    ["../../approvals/1/approve", "..%2f..%2fhealth", "1/close", "a\\b", ".", "..", "", "a\0b", "/", "all"],
)
async def test_a_path_argument_cannot_leave_its_route(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    async with a_depot(tmp_path, migrated, monkeypatch) as depot:
        result = await depot.tools.call("parcels_find", {"label": label})
        assert isinstance(result, Done)
        if label == "..%2f..%2fhealth":  # one segment, however it looks
            assert depot.found == [label]
        else:
            assert result.outcome.is_error
            assert depot.found == []


@pytest.mark.parametrize("name", ["approval_status", "approval.status", "preflight"])
def test_no_route_may_claim_the_name_of_a_tool_of_its_own(name: str) -> None:
    @get("/mine", name=name).agent(description="Mine.")
    async def mine() -> None: ...

    with pytest.raises(WiringError, match=f'"{name.replace(".", "_")}" is a tool of its own'):
        Catalog.of(Litestar([mine], openapi_config=None, logging_config=None))
