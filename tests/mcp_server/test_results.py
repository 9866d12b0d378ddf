"""Whatever a tool answers satisfies the schema that it advertises, and its text says the same."""

import json
from datetime import datetime
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from mcp.client import Client
from support_mcp import BOTH, LEGACY, Endpoint

from db.schema import TicketRow
from tests.support import a_ticket, ago

pytestmark = pytest.mark.anyio
formats = FormatChecker()


@formats.checks("date-time", ValueError)
def is_an_instant_with_an_offset(text: object) -> bool:
    return datetime.fromisoformat(str(text)).tzinfo is not None


class Checked:
    """A client that holds every result against what tools/list says of its tool."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, name: str, **arguments: Any) -> Any:
        [tool] = [tool for tool in (await self.client.list_tools()).tools if tool.name == name]
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)
        result = await self.client.call_tool(name, arguments)
        if result.is_error:
            assert result.structured_content is None
            return result
        Draft202012Validator(tool.output_schema, format_checker=formats).validate(result.structured_content)
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content


async def test_every_structured_result_satisfies_its_schema(endpoint: Endpoint) -> None:
    write = endpoint.world.system.db.write
    async with endpoint.client(await endpoint.token(*BOTH)) as client:
        checked = Checked(client)
        assert (await checked.call("tickets_index"))["tickets"] == []
        ticket_id = await write(a_ticket, assignee=None, age_days=0)
        [ticket] = (await checked.call("tickets_index"))["tickets"]
        assert ticket["closed_at"] is None
        assert ticket["created_at"].endswith(".000Z")
        call: dict[str, Any] = {"ticket_id": ticket_id, "version": 1}
        await checked.call("preflight", tool="tickets_close", arguments=call)
        await checked.call("preflight", tool="tickets_close", arguments={})
        request_id = (await checked.call("tickets_close", **call))["request_id"]
        await checked.call("approval_status", request_id=request_id)
        await endpoint.world.approve(request_id)
        await checked.call("approval_status", request_id=request_id)
        assert (await checked.call("tickets_close", **call))["closed_at"]
        assert (await checked.call("tickets_close", **call))["status"] == "used"
        await checked.call("approval_status", request_id=request_id)
        assert (await checked.call("tickets_close", ticket_id=9, version=1)).is_error
        assert (await checked.call("approval_status", request_id="x")).is_error


@pytest.mark.parametrize("state", ["approved", "rejected", "expired", "changed"])
async def test_a_request_in_any_state_has_a_standing_that_satisfies_the_schema(endpoint: Endpoint, state: str) -> None:
    ticket_id = await endpoint.world.system.db.write(a_ticket)
    async with endpoint.client(await endpoint.token("tickets_close")) as client:
        checked = Checked(client)
        request_id = (await checked.call("tickets_close", ticket_id=ticket_id, version=1))["request_id"]
        if state == "rejected":
            await endpoint.world.reject(request_id, until_at=ago(-2))
        elif state == "expired":
            endpoint.world.clock.advance(hours=72)
        else:
            await endpoint.world.approve(request_id)
        if state == "changed":
            await endpoint.world.change(TicketRow, ticket_id, version=2)
            assert (await checked.call("tickets_close", ticket_id=ticket_id, version=1)).is_error
        standing = await checked.call("approval_status", request_id=request_id)
    assert standing["status"] == {"changed": "cancelled"}.get(state, state)


@pytest.mark.parametrize("mode", [LEGACY, "auto"])
async def test_characters_that_end_lines_elsewhere_arrive_as_they_are(endpoint: Endpoint, mode: str) -> None:
    title = "a\u2028b\u2029c\u0085d\re\x0bf\u202eg"
    await endpoint.world.system.db.write(a_ticket, title=title)
    async with endpoint.client(await endpoint.token("tickets_index"), mode) as client:
        page = await Checked(client).call("tickets_index")
    assert [ticket["title"] for ticket in page["tickets"]] == [title]


async def test_three_thousand_tickets_come_in_pages_of_a_hundred_each_once(endpoint: Endpoint) -> None:
    await endpoint.world.system.db.write(lambda session: [a_ticket(session) for _ in range(3_000)] and None)
    seen, after = [], {}
    async with endpoint.client(await endpoint.token("tickets_index")) as client:
        checked = Checked(client)
        for _ in range(30):
            page = await checked.call("tickets_index", limit=100, **after)
            seen += [ticket["id"] for ticket in page["tickets"]]
            after = {"after": page["next"]}
        assert page["next"] is None
        assert (await client.call_tool("tickets_index", {"limit": 101})).is_error
    assert seen == list(range(1, 3_001))
