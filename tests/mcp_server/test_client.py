"""The official client in front of the endpoint: what a token sees, calls, is refused, and has carried out."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from sqlalchemy import select
from support_mcp import BOTH, LEGACY, MODERN, Endpoint

from db.schema import ApprovalRow
from tests.support import a_ticket

pytestmark = pytest.mark.anyio
COMPANIONS = ["approval_status", "preflight"]


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


def said(result: Any) -> Any:
    """The text of a result, which is JSON."""
    return json.loads(result.content[0].text)


@pytest.mark.parametrize("mode", [LEGACY, MODERN, "auto"])
async def test_a_client_lists_and_calls_what_its_token_grants(endpoint: Endpoint, mode: str) -> None:
    ticket_id = await endpoint.world.system.db.write(a_ticket, title="Printer on fire")
    async with endpoint.client(await endpoint.token("tickets_index"), mode) as client:
        assert await names(client) == ["tickets_index", "preflight"]
        result = await client.call_tool("tickets_index", {"status": "open"})
    assert not result.is_error
    assert result.structured_content["tickets"][0]["id"] == ticket_id
    assert said(result) == result.structured_content


async def test_each_token_is_shown_its_own_tools(endpoint: Endpoint) -> None:
    reader, closer = await endpoint.token("tickets_index", name="reader"), await endpoint.token(*BOTH, name="closer")
    async with endpoint.client(reader) as client:
        assert await names(client) == ["tickets_index", "preflight"]
    async with endpoint.client(closer) as client:
        assert await names(client) == [*BOTH, *COMPANIONS]


async def test_a_tool_tells_what_it_is_and_does(endpoint: Endpoint) -> None:
    async with endpoint.client(await endpoint.token(*BOTH)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    hints = {name: (tool.annotations.read_only_hint, tool.annotations.destructive_hint) for name, tool in tools.items()}
    reads = dict.fromkeys(("tickets_index", *COMPANIONS), (True, False))
    assert hints == {**reads, "tickets_close": (False, True)}
    assert "approve" in tools["tickets_close"].description
    assert tools["tickets_close"].input_schema["required"] == ["ticket_id", "version"]
    assert all(tool.output_schema["type"] == "object" for tool in tools.values())


@pytest.mark.parametrize("tool", ["tickets_close", "approval_status", "tickets_show", "no_such_tool"])
async def test_a_tool_outside_the_scopes_is_as_unknown_as_one_that_does_not_exist(
    endpoint: Endpoint, tool: str
) -> None:
    async with endpoint.client(await endpoint.token("tickets_index")) as client:
        with pytest.raises(MCPError) as called:
            await client.call_tool(tool, {"ticket_id": 1, "version": 1})
        with pytest.raises(MCPError) as rehearsed:
            await client.call_tool("preflight", {"tool": tool, "arguments": {}})
    assert called.value.code == rehearsed.value.code == -32602
    message = f"Unknown tool: {tool}. Nothing was executed. See: tools/list"
    assert str(called.value) == str(rehearsed.value) == message


async def test_the_audit_trail_knows_who_called_what_it_may_not(endpoint: Endpoint) -> None:
    async with endpoint.client(await endpoint.token("tickets_index")) as client:
        with pytest.raises(MCPError):
            await client.call_tool("tickets_close", {"ticket_id": 1, "version": 1})
    [day] = endpoint.world.system.audit.days()
    found = json.loads(day.read_text().splitlines()[-1])
    assert (found["surface"], found["principal"], found["tool"]) == ("mcp", "token:desk", "tickets_close")
    assert (found["result"], found["reason"]) == ("denied", "scope")


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        ({"ticket_id": 99, "version": 1}, 404, "no ticket 99"),
        ({"ticket_id": 1, "version": 9}, 409, "version"),
        ({"ticket_id": 1}, 422, "version"),
        ({"ticket_id": 1, "version": 1, "force": True}, 422, "force"),
        *(
            ({"ticket_id": odd, "version": 1}, 422, "ticket_id")
            for odd in (0, -1, "7", 7.5, True, 2**53, 10**400, None)
        ),
    ],
)
async def test_a_refused_call_is_an_error_that_says_why_and_asks_nobody(
    endpoint: Endpoint, arguments: dict[str, Any], status: int, word: str
) -> None:
    await endpoint.world.system.db.write(a_ticket)
    async with endpoint.client(await endpoint.token("tickets_close")) as client:
        result = await client.call_tool("tickets_close", arguments)
    assert result.is_error
    assert result.structured_content is None
    assert said(result)["status"] == status
    assert word in said(result)["detail"]
    assert await endpoint.world.pending() == []


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_call_is_parked_approved_repeated_and_done_once(endpoint: Endpoint, mode: str) -> None:
    ticket_id = await endpoint.world.system.db.write(a_ticket)
    call = ("tickets_close", {"ticket_id": ticket_id, "version": 1})
    async with endpoint.client(await endpoint.token(*BOTH), mode) as client:
        parked = await client.call_tool(*call)
        assert not parked.is_error
        assert parked.structured_content["status"] == "pending"
        assert (await client.call_tool(*call)).structured_content["request_id"] == parked.structured_content[
            "request_id"
        ]

        how = (parked.structured_content["poll_with"], {"request_id": parked.structured_content["request_id"]})
        assert (await client.call_tool(*how)).structured_content["status"] == "pending"
        [request_id] = await endpoint.world.pending()
        answered = await endpoint.world.client.post(f"/approvals/{request_id}/approve", json={})
        assert answered.status_code == 200
        assert (await client.call_tool(*how)).structured_content["status"] == "approved"
        assert (await endpoint.world.ticket(ticket_id)).status == "open"

        done = await client.call_tool(*call)
        assert done.structured_content["status"] == "closed"
        assert (await client.call_tool(*how)).structured_content["status"] == "used"
        again = await client.call_tool(*call)
    assert again.structured_content["status"] == "used"
    assert (await endpoint.world.events(f"ticket:{ticket_id}")).count("closed") == 1
    ticket, row = await endpoint.world.ticket(ticket_id), await endpoint.world.approval(request_id)
    assert (ticket.closed_by, row.principal_key) == ("desk", "token:desk")


async def test_a_rejected_call_is_refused_when_it_is_repeated(endpoint: Endpoint) -> None:
    ticket_id = await endpoint.world.system.db.write(a_ticket)
    async with endpoint.client(await endpoint.token("tickets_close")) as client:
        parked = await client.call_tool("tickets_close", {"ticket_id": ticket_id, "version": 1})
        await endpoint.world.reject(parked.structured_content["request_id"])
        refused = await client.call_tool("tickets_close", {"ticket_id": ticket_id, "version": 1})
    assert refused.is_error
    assert said(refused)["reason"] == "approval"


async def test_an_unknown_request_and_somebody_elses_are_told_apart_by_their_ids_alone(endpoint: Endpoint) -> None:
    ticket_id = await endpoint.world.system.db.write(a_ticket)
    desk, other = await endpoint.token("tickets_close"), await endpoint.token("tickets_close", name="other")
    async with endpoint.client(desk) as client:
        parked = await client.call_tool("tickets_close", {"ticket_id": ticket_id, "version": 1})
    foreign, unknown = parked.structured_content["request_id"], "f" * 32
    async with endpoint.client(other) as client:
        answers = [await client.call_tool("approval_status", {"request_id": each}) for each in (foreign, unknown)]
        assert (await client.call_tool("approval_status", {})).is_error
    assert all(answer.is_error for answer in answers)
    assert answers[0].content[0].text.replace(foreign, "") == answers[1].content[0].text.replace(unknown, "")


async def test_a_preflight_gives_a_verdict_and_asks_nobody(endpoint: Endpoint) -> None:
    ticket_id = await endpoint.world.system.db.write(a_ticket)
    async with endpoint.client(await endpoint.token(*BOTH)) as client:

        async def verdict(tool: str, **arguments: Any) -> Any:
            result = await client.call_tool("preflight", {"tool": tool, "arguments": arguments})
            assert not result.is_error
            return result.structured_content

        may = await verdict("tickets_close", ticket_id=ticket_id, version=1)
        moved = await verdict("tickets_close", ticket_id=ticket_id, version=2)
        misfit = await verdict("tickets_close", ticket_id=ticket_id)
        reads = await verdict("tickets_index")
    assert (may["allowed"], may["needs_approval"], may["status"]) == (True, True, 200)
    assert may["preview"]["summary"].startswith(f"Closes ticket {ticket_id}")
    assert [(each["allowed"], each["status"]) for each in (moved, misfit)] == [(False, 409), (False, 422)]
    assert (reads["allowed"], reads["needs_approval"], reads["preview"]) == (True, False, None)
    assert await endpoint.world.system.db.read(lambda s: list(s.execute(select(ApprovalRow.id)))) == []


async def test_a_minute_holds_sixty_calls_of_a_token_twenty_that_change_something(endpoint: Endpoint) -> None:
    await endpoint.world.system.db.write(a_ticket)
    desk, other = await endpoint.token(*BOTH), await endpoint.token(*BOTH, name="other")
    close = ("tickets_close", {"ticket_id": 1, "version": 1})
    async with endpoint.client(desk) as client:
        writes = [await client.call_tool(*close) for _ in range(21)]
        reads = [await client.call_tool("tickets_index", {}) for _ in range(41)]
        status = await client.call_tool("approval_status", {"request_id": writes[0].structured_content["request_id"]})
        assert not status.is_error  # looking costs nothing
    assert [result.is_error for result in writes] == [False] * 20 + [True]
    assert [result.is_error for result in reads] == [False] * 40 + [True]
    assert said(writes[-1])["reason"] == said(reads[-1])["reason"] == "rate-limit"
    async with endpoint.client(other) as client:
        assert not (await client.call_tool(*close)).is_error
    endpoint.world.clock.advance(seconds=60)
    async with endpoint.client(desk) as client:
        assert not (await client.call_tool(*close)).is_error


async def test_fifty_calls_of_two_tokens_at_once_never_mix_identities(endpoint: Endpoint) -> None:
    write = endpoint.world.system.db.write
    tickets = [await write(a_ticket) for _ in range(36)]
    desk, other = await endpoint.token(*BOTH), await endpoint.token(*BOTH, name="other")
    mine: dict[str, list[int]] = {desk: tickets[0::2], other: tickets[1::2]}

    async def close(client: Client, ticket_id: int) -> str:
        result = await client.call_tool("tickets_close", {"ticket_id": ticket_id, "version": 1})
        return str(result.structured_content["request_id"])

    async with endpoint.client(desk) as one, endpoint.client(other, LEGACY) as two:
        clients = {desk: one, other: two}
        calls = [close(clients[token], ticket_id) for token in mine for ticket_id in mine[token]]
        calls += [clients[token].call_tool("tickets_index", {}) for token in mine for _ in range(7)]
        await asyncio.gather(*calls)
    rows = await endpoint.world.system.db.read(
        lambda s: list(s.execute(select(ApprovalRow.principal_key, ApprovalRow.subject)))
    )
    assert Counter(rows) == Counter(
        [("token:desk", f"ticket:{each}") for each in mine[desk]]
        + [("token:other", f"ticket:{each}") for each in mine[other]]
    )
