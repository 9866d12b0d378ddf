"""The official client in front of the endpoint: what a token sees, calls, is refused, and has carried out."""

import json

import pytest
from support_mcp import LEGACY, MODERN, Endpoint

from tests.support import a_ticket

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", [LEGACY, MODERN, "auto"])
async def test_a_client_lists_and_calls_what_its_token_grants(endpoint: Endpoint, mode: str) -> None:
    ticket_id = await endpoint.world.system.db.write(a_ticket, title="Printer on fire")
    async with endpoint.client(await endpoint.token("tickets_index"), mode) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == ["tickets_index", "preflight"]
        result = await client.call_tool("tickets_index", {"status": "open"})
    assert not result.is_error
    assert result.structured_content["tickets"][0]["id"] == ticket_id
    assert json.loads(result.content[0].text) == result.structured_content
