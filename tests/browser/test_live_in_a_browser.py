"""Pages that follow what happens elsewhere: over a stream, over a poll, across a restart, a sleep and a sign-out."""

import os
import re

import pytest
from sqlalchemy.orm import Session
from support import ago, an_approval

if not os.environ.get("CI"):
    pytest.importorskip("playwright", reason="needs: uv sync --group browser")

from playwright.sync_api import Page, expect
from support_browser import Server

from app.runtime.instants import utc_now


def a_request(session: Session, ticket_id: int = 1) -> str:
    now = utc_now()
    return an_approval(session, ticket_id, requested_at=ago(0, now), expires_at=ago(-3, now))


def test_a_request_made_elsewhere_appears_within_two_seconds(page: Page, server: Server) -> None:
    expect(page.locator("#pages")).not_to_contain_text("1")
    server.write(a_request)
    expect(page.locator("#page")).to_contain_text("Closes ticket 1.", timeout=2_000)
    expect(page.locator("#pages .count")).to_have_text("1")
    expect(page).to_have_title(re.compile(r"^\(1\) Inbox"))
