"""The in-process principal, and whom each guard lets through."""

from datetime import datetime
from inspect import iscoroutinefunction

import pytest
from support import OPERATOR, TRIAGER
from support_auth import TOKEN, House

from app import auth
from app.runtime.principal import InProcess, Principal
from db.engine import Database

pytestmark = pytest.mark.anyio
TOOLS = Principal("token", "tools", "mcp", frozenset({"tool:tickets_close"}))


@pytest.fixture
def house(database: Database, now: datetime) -> House:
    return House(database, now)


async def test_an_in_process_principal_wins_and_costs_no_statement(house: House) -> None:
    answer = await house.in_process(InProcess(TRIAGER)).get("/whoami")
    assert answer.json() == {"who": "agent:triager:main", "how": "in-process"}
    assert house.statements == [0]


@pytest.mark.parametrize("name", ["Authorization", "Cookie"])
async def test_an_in_process_call_that_brings_credentials_is_refused(house: House, name: str) -> None:
    answer = await house.in_process(InProcess(TRIAGER)).get("/whoami", headers={name: "x=y"})
    assert answer.status_code == 403


async def test_no_header_makes_a_principal(house: House) -> None:
    answer = await house.browser().get("/whoami", headers={"triager.in_process": "agent:triager:main"})
    assert answer.json()["who"] is None


@pytest.mark.parametrize(
    ("principal", "status"),
    [
        (OPERATOR, 200),
        (TRIAGER, 200),
        (Principal.agent("triager", "eu/1"), 200),
        (TOOLS, 200),
        (Principal.agent("triagerX", "main"), 403),
        (Principal.agent("other", "triager:main"), 403),
        (Principal("operator", "3", "triager:", frozenset()), 403),
    ],
)
async def test_only_operators_the_triager_and_tools_tokens_may_close(
    house: House, principal: Principal, status: int
) -> None:
    assert (await house.in_process(InProcess(principal)).post("/close")).status_code == status


@pytest.mark.parametrize("path", ["/operate", "/console/action"])
@pytest.mark.parametrize(
    "principal", [TRIAGER, TOOLS, Principal("agent", "operator:1", "operator", frozenset({"operate"}))]
)
async def test_no_agent_and_no_tools_token_is_ever_an_operator(house: House, path: str, principal: Principal) -> None:
    assert (await house.in_process(InProcess(principal)).post(path)).status_code == 403


async def test_an_anonymous_visitor_is_led_to_the_sign_in_page_and_back(house: House) -> None:
    answer = await house.browser().get("/console/page?text=a%26b&x=//y")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=/console/page%3Ftext%3Da%2526b%26x%3D//y"


async def test_an_anonymous_action_is_led_to_the_sign_in_page_only(house: House) -> None:
    answer = await house.browser().post("/console/action")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


@pytest.mark.parametrize(
    ("shown", "where"),
    [
        ("https://triager.test/console/page?x=1", "/sign-in?next=/console/page%3Fx%3D1"),
        ("https://triager.test/", "/sign-in"),
        ("https://triager.test//evil", "/sign-in"),
        ("http://[", "/sign-in"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_htmx_is_told_to_leave_the_page_it_shows(house: House, method: str, shown: str, where: str) -> None:
    path = "/console/page" if method == "GET" else "/console/action"
    answer = await house.browser().request(method, path, headers={"HX-Request": "true", "HX-Current-URL": shown})
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, where)


async def test_a_bearer_operator_may_use_the_console(house: House) -> None:
    await house.add_people()
    async with house.browser(headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        assert (await client.get("/console/page")).status_code == 200
        assert (await client.post("/console/action")).status_code == 200


def test_every_guard_is_a_coroutine() -> None:
    assert all(
        iscoroutinefunction(guard) for guard in (auth.signed_in, auth.operator, auth.may_close_ticket, auth.console)
    )
