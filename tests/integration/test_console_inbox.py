"""The inbox on the real app: what a card says, what an answer does, and what the page never claims."""

import pytest
from support_console import House, words

pytestmark = pytest.mark.anyio


async def test_the_empty_inbox_says_what_will_happen(house: House) -> None:
    assert "Nothing waits for you" in words(await house.page())
