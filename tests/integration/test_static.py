"""Static files: kept for ever, packed once, and light; no page weighs much."""

import gzip
import re
from typing import Any

import httpx
import pytest
from support import a_comment, a_ticket, an_approval
from support_console import House

from routes.static import takes_gzip

pytestmark = pytest.mark.anyio
PAGE_MAX = 60_000  # bytes over the wire, for a browser that has nothing yet
ADDRESS = re.compile(r'(?:href|src)="(/static/[^"]+)"')


async def raw(house: House, path: str, accepted: str | None) -> tuple[httpx.Headers, bytes]:
    headers = {} if accepted is None else {"accept-encoding": accepted}
    async with house.browser.stream("GET", path, headers=headers) as answer:
        return answer.headers, b"".join([part async for part in answer.aiter_raw()])


async def test_static_files_are_public_kept_for_ever_and_only_ours(house: House) -> None:
    house.browser.cookies.clear()
    html = (await house.browser.get("/sign-in")).text
    for address in ADDRESS.findall(html):
        answer = await house.browser.get(address)
        assert answer.status_code == 200, address
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    for path in ("/static/nope.css", "/static/../base.html", "/static/%2e%2e/base.html", "/static/"):
        assert (await house.browser.get(path)).status_code == 404, path


async def test_a_file_is_packed_for_who_takes_it_and_the_same_each_time(house: House) -> None:
    headers, plain = await raw(house, "/static/htmx/htmx.min.js", "identity")
    assert "content-encoding" not in headers
    headers, packed = await raw(house, "/static/htmx/htmx.min.js", "gzip, br")
    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")
    assert headers["content-type"].startswith("text/javascript")
    assert gzip.decompress(packed) == plain
    assert packed[4:8] == bytes(4)  # no time in it
    assert len(packed) == int(headers["content-length"]) < len(plain) / 2


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("", False),
        ("br", False),
        ("gzip", True),
        ("GZIP", True),
        ("br, gzip;q=0.001", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000, *", False),
        ("*", True),
        ("*;q=0", False),
        ("identity, *;q=0.5", True),
        ("gzip;q=1.0", True),
        ("gzip;q=zero", False),
        ("x-gzip-not", False),
    ],
)
def test_who_takes_gzip_is_read_with_its_weights(accepted: str, packed: bool) -> None:
    assert takes_gzip(accepted) == packed


@pytest.fixture
async def full(house: House) -> House:
    """As much on each page as it shows at once."""
    for _ in range(60):
        number = await house.system.db.write(a_ticket, title="The invoice export truncates after a thousand rows")
        await house.system.db.write(a_comment, number, body="Any news? " * 20)
    await house.sweep()
    for number in range(20, 40):
        preview: Any = {"summary": f'Closes ticket {number}, "The export". An operator spoke last; no activity.'}
        state: Any = {"before": {"status": "open", "version": 1}, "after": {"status": "closed", "version": 2}}
        await house.system.db.write(an_approval, number, preview=preview | state)
    return house


PAGES = ["/", "/console/tickets", "/console/tickets/5", "/console/agents/triager", "/console/sessions", "/sign-in"]


@pytest.mark.parametrize("path", PAGES)
async def test_no_page_weighs_more_than_sixty_kilobytes_with_all_it_loads(full: House, path: str) -> None:
    _, html = await raw(full, path, "gzip")
    files = {address: len((await raw(full, address, "gzip"))[1]) for address in set(ADDRESS.findall(html.decode()))}
    assert len(html) + sum(files.values()) < PAGE_MAX, (len(html), files)
