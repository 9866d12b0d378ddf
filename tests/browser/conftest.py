"""Debian's Chromium in front of the product."""

import base64
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support_browser import Server, running, sign_in

from app.main import build
from config.settings import Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")


@pytest.fixture
def address(migrated: Path, tmp_path: Path) -> Iterator[str]:
    """Where the product answers. It holds the walkthrough's four tickets, of which two are stale."""
    shutil.copy(migrated, tmp_path / "triager.sqlite")
    key = base64.b64encode(bytes(32)).decode()
    system = build(Settings(data_dir=tmp_path, app_key=key, secure_cookies=False))
    server = Server(system)
    with running(server):
        yield server.address


@pytest.fixture(scope="module")  # no longer: while it lives, asyncio.run fails in this thread
def chromium() -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    program = shutil.which("chromium")
    if program is None and not os.environ.get("CI"):
        pytest.skip("needs: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: "Browser", address: str) -> Iterator["Page"]:
    """Signed in, on the console. A test fails when the browser complains about the page."""
    complaints: list[str] = []
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    sign_in(page, address)
    yield page
    context.close()
    assert complaints == []
