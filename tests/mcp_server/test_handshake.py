"""What HTTP, JSON-RPC and the revisions of the protocol ask of the endpoint, message by message."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_types import LATEST_PROTOCOL_VERSION
from support_mcp import BOTH, HEADERS, MODERN, Endpoint, an_endpoint

from tests.support import a_ticket
from tests.world import TOKEN

pytestmark = pytest.mark.anyio
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.fixture(scope="module")
async def endpoint(
    tmp_path_factory: pytest.TempPathFactory, migrated: Path, anyio_backend: str
) -> AsyncIterator[Endpoint]:
    """One for all: no message here leaves anything behind."""
    async with an_endpoint(tmp_path_factory.mktemp("endpoint"), migrated) as made:
        yield made


def initialize(version: str) -> dict[str, Any]:
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}


def call(name: str, request_id: Any = 1, **arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def code(response: httpx.Response) -> int:
    error: int = response.json()["error"]["code"]
    return error


# Who may come in


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer nonsense", "Basic dXNlcjp4", "Bearer caf\xe9"])
async def test_without_a_valid_token_the_answer_is_401_and_says_which_kind(
    endpoint: Endpoint, header: str | None
) -> None:
    headers = [*HEADERS.items(), *([("Authorization", header.encode("latin-1"))] if header else [])]
    response = await endpoint.raw.post("/mcp", json=LIST, headers=headers)
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")


async def test_an_operators_token_is_refused(endpoint: Endpoint) -> None:
    assert (await endpoint.post(TOKEN, LIST)).status_code == 403


async def test_a_signed_in_browsers_cookie_is_nothing_here(endpoint: Endpoint) -> None:
    response = await endpoint.raw.post("/mcp", json=LIST, headers={**HEADERS, "Cookie": "__Host-session=" + "x" * 43})
    assert response.status_code == 401


async def test_a_revoked_token_ends_with_the_next_request(endpoint: Endpoint) -> None:
    token = await endpoint.token("tickets_index", name="gone")
    assert (await endpoint.post(token, LIST)).status_code == 200
    await endpoint.revoke("gone")
    assert (await endpoint.post(token, LIST)).status_code == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "", "http://localhost"])
async def test_a_page_of_another_origin_is_refused(endpoint: Endpoint, origin: str) -> None:
    assert (await endpoint.post(await endpoint.token("tickets_index"), LIST, Origin=origin)).status_code == 403


async def test_no_origin_and_ones_own_are_fine(endpoint: Endpoint) -> None:
    token = await endpoint.token("tickets_index")
    assert (await endpoint.post(token, LIST)).status_code == 200
    assert (await endpoint.post(token, LIST, Origin=endpoint.address)).status_code == 200


async def test_a_host_that_is_not_ours_is_refused(endpoint: Endpoint) -> None:
    assert (await endpoint.post(await endpoint.token("tickets_index"), LIST, Host="evil.example")).status_code == 400


# HTTP


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"])
async def test_there_is_nothing_but_post(endpoint: Endpoint, method: str) -> None:
    bearer = {"Authorization": f"Bearer {await endpoint.token('tickets_index')}", "Accept": "text/event-stream"}
    response = await endpoint.raw.request(method, "/mcp", headers=bearer)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
async def test_what_is_no_json_by_its_type_is_415(endpoint: Endpoint, kind: str) -> None:
    response = await endpoint.post(await endpoint.token("tickets_index"), LIST, **{"Content-Type": kind})
    assert response.status_code == 415


@pytest.mark.parametrize(
    ("accept", "status"),
    [("application/json", 200), ("*/*", 200), ("text/event-stream", 406), ("text/html", 406)],
)
async def test_the_answer_is_json_for_whoever_accepts_it(endpoint: Endpoint, accept: str, status: int) -> None:
    response = await endpoint.post(await endpoint.token("tickets_index"), LIST, Accept=accept)
    assert response.status_code == status
    assert response.headers["content-type"].startswith("application/json")


async def test_a_body_over_a_mebibyte_is_413(endpoint: Endpoint) -> None:
    body = json.dumps(call("tickets_index", text="x" * 1024 * 1024)).encode()
    assert (await endpoint.post(await endpoint.token("tickets_index"), body)).status_code == 413


# JSON-RPC


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}', -32700),
        (b"[" * 100_000, -32700),
        (json.dumps([LIST, LIST]).encode(), -32600),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', -32600),
    ],
)
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
async def test_a_body_that_is_not_one_message_is_an_error_with_no_id(
    endpoint: Endpoint, body: bytes, error: int, version: str
) -> None:
    token = await endpoint.token("tickets_index")
    response = await endpoint.post(token, body, **{"MCP-Protocol-Version": version})
    assert (response.status_code, code(response)) == (400, error)
    assert response.json()["id"] is None


@pytest.mark.parametrize("request_id", [0, "", -1, "seven", 2**53 - 1])
async def test_an_id_comes_back_as_it_was_given(endpoint: Endpoint, request_id: Any) -> None:
    response = await endpoint.post(await endpoint.token("tickets_index"), {**LIST, "id": request_id})
    assert response.json()["id"] == request_id
    assert type(response.json()["id"]) is type(request_id)


@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "notifications/unheard_of"])
async def test_a_notification_is_accepted_with_nothing(endpoint: Endpoint, method: str, version: str) -> None:
    body = {"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}}
    response = await endpoint.post(await endpoint.token("tickets_index"), body, **{"MCP-Protocol-Version": version})
    assert (response.status_code, response.content) == (202, b"")


async def test_a_call_without_an_id_is_no_call(endpoint: Endpoint) -> None:
    await endpoint.world.system.db.write(a_ticket)
    body = call("tickets_close", ticket_id=1, version=1)
    del body["id"]
    assert (await endpoint.post(await endpoint.token(*BOTH, name="closer"), body)).status_code == 202
    assert await endpoint.world.pending() == []


async def test_an_unknown_method_is_told_so(endpoint: Endpoint) -> None:
    assert code(await endpoint.post(await endpoint.token("tickets_index"), {**LIST, "method": "tools/burn"})) == -32601


@pytest.mark.parametrize(
    "arguments",
    [
        b'{"ticket_id":1,"ticket_id":2,"version":1}',
        b'{"ticket_id":NaN,"version":1}',
        b'{"ticket_id":1,"version":1e999}',
    ],
)
async def test_arguments_that_json_does_not_know_are_no_call(endpoint: Endpoint, arguments: bytes) -> None:
    await endpoint.world.system.db.write(a_ticket)
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tickets_close","arguments":%s}}' % arguments
    )
    response = await endpoint.post(await endpoint.token(*BOTH, name="closer"), body)
    assert (response.status_code, code(response)) == (400, -32700)
    assert await endpoint.world.pending() == []


# Revisions


@pytest.mark.parametrize("version", HANDSHAKES)
async def test_a_revision_that_is_known_is_agreed_on(endpoint: Endpoint, version: str) -> None:
    response = await endpoint.post(await endpoint.token("tickets_index"), initialize(version))
    assert response.json()["result"]["protocolVersion"] == version
    assert "mcp-session-id" not in response.headers


@pytest.mark.parametrize("version", ["1999-01-01", "2099-01-01", "nonsense", ""])
async def test_another_revision_is_answered_with_one_that_the_server_speaks(endpoint: Endpoint, version: str) -> None:
    response = await endpoint.post(await endpoint.token("tickets_index"), initialize(version))
    assert response.json()["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("version", ["1999-01-01", "nonsense", ""])
async def test_a_revision_in_a_header_that_nobody_knows_is_400(endpoint: Endpoint, version: str) -> None:
    response = await endpoint.post(await endpoint.token("tickets_index"), LIST, **{"MCP-Protocol-Version": version})
    assert response.status_code == 400


async def test_a_session_of_before_a_restart_is_of_no_account(endpoint: Endpoint) -> None:
    response = await endpoint.post(await endpoint.token("tickets_index"), LIST, **{"Mcp-Session-Id": "gone"})
    assert response.status_code == 200


async def test_the_newest_revision_wants_no_handshake_and_takes_what_its_envelope_says(endpoint: Endpoint) -> None:
    assert LATEST_PROTOCOL_VERSION == MODERN
    token = await endpoint.token("tickets_index")
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}
    found = (await endpoint.post(token, body, **headers)).json()["result"]
    assert MODERN in found["supportedVersions"]
    assert "tools" in found["capabilities"]
    mismatched = await endpoint.post(token, body, **{**headers, "Mcp-Method": "tools/list"})
    assert mismatched.status_code == 400
    unmarked = await endpoint.post(token, LIST, **{"MCP-Protocol-Version": MODERN})
    assert unmarked.status_code == 400
