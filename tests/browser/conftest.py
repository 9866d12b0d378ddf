"""Debian's Chromium in front of the product. A test fails when the browser complains about a page.

A complaint is a script's error, whatever the console says is an error or a warning, and each breach of the policy that
our pages carry. That an action was refused (401, 403, 409, 422) is none.
"""

import base64
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support_browser import Server, running, sign_in, walkthrough

from app.main import build
from config.settings import ROOT, Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")
AXE = ROOT / ".venv/axe/node_modules/axe-core/axe.min.js"
REFUSED = re.compile(r"Failed to load resource: the server responded with a status of (401|403|409|422) ")
BAD = ("serious", "critical")


@pytest.fixture
def server(migrated: Path, tmp_path: Path) -> Iterator[Server]:
    """The product. It holds the walkthrough's four tickets, of which two are stale."""
    shutil.copy(migrated, tmp_path / "triager.sqlite")
    key = base64.b64encode(bytes(32)).decode()
    server = Server(build(Settings(data_dir=tmp_path, app_key=key, secure_cookies=False)), furnish=walkthrough)
    with running(server):
        yield server


@pytest.fixture
def address(server: Server) -> str:
    """Where it answers."""
    return server.address


@pytest.fixture(scope="module")  # no longer: while it lives, asyncio.run fails in this thread
def chromium() -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (of a group that may be missing)

    program = shutil.which("chromium")
    if program is None and not os.environ.get("CI"):
        pytest.skip("needs: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """What the browsers of this test said. A test that provokes some takes them out itself."""
    said: list[str] = []
    yield said
    assert said == []


@pytest.fixture
def visit(chromium: "Browser", server: Server, complaints: list[str]) -> Iterator[Callable[..., "Page"]]:
    """Each call is somebody else's browser, with an empty page: `visit(java_script_enabled=False)`, as new_context."""
    assert server  # which outlives the pages
    contexts = []

    def heard(message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning") and not REFUSED.match(message.text):
            complaints.append(message.text)

    def new_page(**options: Any) -> "Page":
        context = chromium.new_context(**({"viewport": {"width": 1280, "height": 720}} | options))
        contexts.append(context)
        page = context.new_page()
        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield new_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(visit: Callable[..., "Page"], address: str) -> "Page":
    """Signed in, on the inbox."""
    page = visit()
    sign_in(page, address)
    return page


@pytest.fixture(scope="session")
def axe() -> str:
    if not AXE.is_file() and not os.environ.get("CI"):
        pytest.skip("needs: npm install --prefix .venv/axe axe-core")
    return AXE.read_text("utf-8")


@pytest.fixture
def accessible(axe: str) -> Callable[["Page"], None]:
    """`accessible(page)`: axe-core finds nothing serious or critical on it as it is now, light and dark."""

    def look(page: "Page") -> None:
        page.evaluate(axe)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
            bad = [
                f"{one['id']}: {one['help']}: {node['target']} {node['failureSummary']}"
                for one in found
                if one["impact"] in BAD
                for node in one["nodes"]
            ]
            assert bad == [], f"{page.url}, {scheme}"

    return look
