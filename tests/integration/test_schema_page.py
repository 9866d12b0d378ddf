"""The document at /schema/openapi.json, and the page over it at /schema."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from litestar import Litestar

from app.domain import MAX_ID
from app.main import look
from app.web.openapi import document
from tests.support import a_ticket
from tests.world import World, a_world

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path, migrated: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, migrated) as world:
        yield world


@pytest.fixture(scope="module")
def app() -> Litestar:
    return look().litestar


@pytest.fixture
def described(app: Litestar) -> dict[str, Any]:
    return document(app)


def operations(described: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["operationId"]: one for methods in described["paths"].values() for one in methods.values()}


async def test_a_person_gets_the_document_and_the_page(world: World, described: dict[str, Any]) -> None:
    served, shown = await world.client.get("/schema/openapi.json"), await world.client.get("/schema")
    assert served.json() == described
    assert served.headers["content-type"] == "application/json"
    assert shown.status_code == 200
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert "<script" not in shown.text


@pytest.mark.parametrize(("path", "status"), [("/schema/openapi.json", 401), ("/schema", 303)])
async def test_a_stranger_gets_neither(world: World, path: str, status: int) -> None:
    del world.client.headers["authorization"]
    assert (await world.client.get(path)).status_code == status


async def test_every_operation_is_on_the_page_with_each_field_that_it_takes(
    world: World, described: dict[str, Any]
) -> None:
    page = (await world.client.get("/schema")).text
    for name, operation in operations(described).items():
        section = page.partition(f'<section class="panel" id="{name}">')[2].partition("</section>")[0]
        for field in fields_of(operation, described):
            assert f"<code>{field}</code>" in section, (name, field)
        for status in operation["responses"]:
            assert re.search(rf"\b{status}\b", section), (name, status)
    assert page.count("a person approves each call of an agent") == 1


def fields_of(operation: dict[str, Any], described: dict[str, Any]) -> list[str]:
    fields = [one["name"] for one in operation["parameters"]]
    if "requestBody" in operation:
        name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        fields += described["components"]["schemas"][name]["properties"]
    return fields


async def test_each_link_of_the_page_leads_somewhere(world: World) -> None:
    page = (await world.client.get("/schema")).text
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


async def test_the_tools_are_the_operations_that_say_so(app: Litestar, described: dict[str, Any]) -> None:
    tools = {name: one["x-tool"] for name, one in operations(described).items() if "x-tool" in one}
    assert tools == {
        tool.name: {"name": tool.name, "approval": "required" if tool.gated else "auto"} for tool in look().catalog
    }
    for tool in look().catalog:
        assert set(fields_of(operations(described)[tool.name], described)) == tool.sources.keys()


async def test_what_is_for_browsers_and_agents_only_is_not_described(described: dict[str, Any]) -> None:
    hidden = ("/sign-in", "/sign-out", "/console", "/static", "/schema", "/agents", "/mcp")
    assert "/" not in described["paths"]
    assert not [path for path in described["paths"] if path.startswith(hidden)]


async def test_every_schema_is_json_schema_and_every_reference_is_there(described: dict[str, Any]) -> None:
    assert described["openapi"] == "3.1.0"
    schemas = described["components"]["schemas"]
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    assert set(re.findall(r"'#/components/schemas/(\w+)'", str(described))) == schemas.keys()


async def test_what_is_sent_is_closed_and_an_id_and_an_instant_say_what_they_are(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    bodies = {
        one["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for one in operations(described).values()
        if "requestBody" in one
    }
    parts = {name for body in bodies for name in re.findall(r"'#/components/schemas/(\w+)'", str(schemas[body]))}
    sent = {name for name in bodies | parts if schemas[name].get("type") == "object"}
    assert {name for name in schemas if schemas[name].get("additionalProperties") is False} == sent
    [ticket_id] = operations(described)["tickets_show"]["parameters"]
    assert (ticket_id["schema"]["minimum"], ticket_id["schema"]["maximum"]) == (1, MAX_ID)
    created = schemas["TicketOut"]["properties"]["created_at"]
    assert created["format"] == "date-time"
    assert re.search(created["pattern"], "2026-03-09T12:00:00.000Z")


async def test_a_query_does_not_say_null(described: dict[str, Any]) -> None:
    for operation in operations(described).values():
        for one in operation["parameters"]:
            assert "anyOf" not in one["schema"], one


@pytest.mark.parametrize(
    ("operation", "refusals"),
    [
        ("health", {"422"}),
        ("tickets_index", {"401", "403", "422", "503"}),
        ("tickets_show", {"401", "403", "404", "422", "503"}),
        ("tickets_create", {"400", "401", "403", "413", "415", "422", "503"}),
        ("tickets_close", {"400", "401", "403", "404", "409", "413", "415", "422", "503"}),
        ("agents_triager_sweep", {"401", "403", "409", "422", "503"}),
        ("brakes_halt", {"400", "401", "403", "404", "413", "415", "422", "503"}),
    ],
)
async def test_an_operation_lists_the_refusals_that_can_come(
    described: dict[str, Any], operation: str, refusals: set[str]
) -> None:
    answers = operations(described)[operation]["responses"]
    assert {status for status, one in answers.items() if "application/problem+json" in one["content"]} == refusals


async def test_only_what_strangers_may_use_asks_for_no_token(described: dict[str, Any]) -> None:
    public = {name for name, one in operations(described).items() if not one["security"]}
    assert public == {"health", "health_ready"}


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({"content-type": "text/plain"}, b'{"version": 1}', 415),
        ({"content-type": "application/x-www-form-urlencoded"}, b"version=1", 415),
        ({"content-type": "application/json; charset=utf-8"}, b'{"version": 1}', 200),
        ({}, b'{"version": 1}', 200),
    ],
)
async def test_a_body_says_that_it_is_json_or_nothing(
    world: World, headers: dict[str, str], content: bytes, status: int
) -> None:
    ticket_id = await world.system.db.write(a_ticket)
    answer = await world.client.post(f"/tickets/{ticket_id}/close", content=content, headers=headers)
    assert answer.status_code == status


@pytest.mark.parametrize("query", ["text=%ff", "text=%ed%a0%80", "text=a%00b", "label=%00"])
async def test_a_query_is_text_or_refused(world: World, query: str) -> None:
    assert (await world.client.get(f"/tickets?{query}")).status_code == 422
