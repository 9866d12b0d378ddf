"""Pages that say no, as a browser shows them; and that the browser's own complaints are heard."""

import os
from collections.abc import Callable

import pytest

if not os.environ.get("CI"):
    pytest.importorskip("playwright", reason="needs: uv sync --group browser")

from playwright.sync_api import Page


def test_a_script_in_the_page_is_not_run_and_the_breach_is_heard(
    visit: Callable[..., Page], address: str, complaints: list[str]
) -> None:
    page = visit()
    page.goto(f"{address}/sign-in")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")
    assert page.evaluate("window.ran") is None
    assert "Content Security Policy" in complaints.pop()


def test_the_sign_in_page_is_accessible(
    visit: Callable[..., Page], address: str, accessible: Callable[[Page], None]
) -> None:
    page = visit()
    page.goto(f"{address}/sign-in")
    accessible(page)
