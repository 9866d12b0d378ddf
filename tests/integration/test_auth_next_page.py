"""`next` leads to a page of ours, whatever it says."""

from datetime import datetime
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support_auth import House
from test_auth_sign_in import sign_in

from app.auth.next_page import safe_next
from db.engine import Database

EVIL = [
    "//evil.example",
    "/\\evil.example",
    "/%5Cevil.example",
    "/%5cevil.example",
    "/%09/evil.example",
    "/\t/evil.example",
    "/a/..//evil.example",
    "/a/%2e%2e//evil.example",
    "/../evil",
    "/.//evil.example",
    "/%2F%2Fevil.example",
    "https://evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "evil.example",
    "",
    " /x",
    "/x\r\nSet-Cookie: a=b",
    "/x y",
    "/ünïcode",
    "/x?a=\\",
    "?x",
]
GOOD = ["/", "/console/approvals?x=//y", "/tickets/41", "/?text=a%20b%26c%0d%0a", "/tickets?after=3#last", "/a.b/..c"]


@pytest.mark.parametrize("text", EVIL)
def test_anything_but_a_plain_path_of_ours_leads_home(text: str) -> None:
    assert safe_next(text) == "/"


@pytest.mark.parametrize("text", GOOD)
def test_a_plain_path_of_ours_is_kept(text: str) -> None:
    assert safe_next(text) == text


@given(st.text(alphabet=st.sampled_from("/\\.%25cC0f9?#:@ ae\t\n\x00é")) | st.text())
@example("/%2e%2e/")
def test_it_stays_on_this_site_as_browsers_read_it(text: str) -> None:
    kept = safe_next(text)
    for read in (kept, unquote(kept.split("?", 1)[0].split("#", 1)[0]).replace("\\", "/")):
        where = urlsplit(urljoin("https://triager.test/sign-in", read))
        assert (where.scheme, where.netloc) == ("https", "triager.test")
        assert not where.path.startswith("//")


@pytest.mark.anyio
@pytest.mark.parametrize("text", EVIL + GOOD)
async def test_signing_in_goes_where_it_may(database: Database, now: datetime, text: str) -> None:
    house = House(database, now)
    await house.add_people()
    answer = await sign_in(house.browser(), next_=text)
    assert answer.status_code == 303
    assert answer.headers["location"] == (text if text in GOOD else "/")
