"""The agent's page as people use it: by mouse, without JavaScript, on a phone, light and dark."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from support_browser import sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

AGENT = "/console/agents/triager"


@pytest.fixture(params=[True, False], ids=["with JavaScript", "without"])
def agent(request: pytest.FixtureRequest, visit: Callable[..., "Page"], address: str) -> "Page":
    """Somebody on the agent's page."""
    page = visit(java_script_enabled=request.param)
    sign_in(page, address)
    page.goto(address + AGENT)
    return page


def test_a_dry_run_a_sweep_and_its_verdicts(agent: "Page") -> None:
    agent.get_by_role("link", name="Dry run").click()
    agent.get_by_text("would be asked").first.wait_for()
    agent.get_by_role("button", name="Run sweep").click()
    agent.get_by_text("Swept: 2 stale tickets, 2 asked about, 0 left.").wait_for()
    agent.get_by_role("img", name="What the last 1 sweep did and left").wait_for()
    assert agent.get_by_role("link", name="Login page 500s on Safari").is_visible()
    agent.get_by_role("table").get_by_role("link").click()
    agent.get_by_role("heading", name="Sweep of").wait_for()
    assert agent.get_by_text("asked", exact=True).count() == 2
    agent.get_by_role("link", name="Triager").last.click()
    agent.get_by_role("heading", name="Last sweep").wait_for()


def test_a_pause_with_a_note_and_its_end(agent: "Page") -> None:
    agent.get_by_text("Pause", exact=True).first.click()
    agent.get_by_label("Why").first.fill("holidays")
    agent.get_by_role("button", name="Pause").click()
    agent.get_by_text("holidays").wait_for()
    agent.get_by_role("button", name="Unpause").click()
    agent.get_by_role("button", name="Unpause").wait_for(state="detached")


def test_a_halt_and_its_end(agent: "Page") -> None:
    agent.get_by_label("Why").last.fill("a leak")
    agent.get_by_role("button", name="Halt").click()
    agent.get_by_text("(a leak)").wait_for()
    assert agent.get_by_role("button", name="Run sweep").count() == 0
    agent.get_by_role("button", name="Resume").click()
    agent.get_by_role("button", name="Run sweep").wait_for()


@pytest.mark.parametrize("width", [1280, 360])
def test_its_pages_have_no_barriers_and_fit(
    page: "Page", address: str, accessible: Callable[["Page"], None], width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address + AGENT)
    accessible(page)
    page.get_by_role("button", name="Run sweep").click()
    page.get_by_text("Swept:").wait_for()
    for path in (AGENT, f"{AGENT}/plan", f"{AGENT}/sweeps", f"{AGENT}/sweeps/1"):
        page.goto(address + path)
        accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
