"""Bearer tokens: what is accepted, what is refused, and that nothing a header holds is a crash."""

from datetime import datetime
from typing import Any

import pytest
from support_auth import READER_TOKEN, TOKEN, TOOLS_TOKEN, House

from app.services import tokens, users
from db.engine import Database

pytestmark = pytest.mark.anyio


@pytest.fixture
async def house(database: Database, now: datetime) -> House:
    house = House(database, now)
    await house.add_people()
    return house


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_a_token_acts_as_its_owner_and_costs_one_statement(house: House) -> None:
    answer = await house.browser().get("/whoami", headers=bearer(TOKEN))
    assert answer.json() == {"who": "operator:1", "how": "bearer"}
    assert house.statements == [1]


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "bEaReR"])
async def test_the_scheme_may_be_written_in_any_case(house: House, scheme: str) -> None:
    answer = await house.browser().get("/signed-in", headers={"Authorization": f"{scheme} {TOKEN}"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "values",
    [
        [b"Bearer caf\xe9"],
        [b"Bearer"],
        [b"Bearer "],
        [b""],
        [b"Bearer  " + TOKEN.encode()],
        [b"Bearer " + TOKEN.encode() + b" "],
        [b"Bearer " + TOKEN.encode(), b"Bearer " + TOKEN.encode()],
        [b"Bearer " + b"x" * 100_000],
        [b"Bearer trg_ops_wrong"],
        [b"Bearer " + TOKEN.upper().encode()],
        [b"Basic b3BzOm9wcw=="],
        [TOKEN.encode()],
        [b"Bearer \x00"],
    ],
)
async def test_a_header_that_is_not_one_good_token_is_a_401(house: House, values: list[bytes]) -> None:
    headers: Any = [(b"Authorization", value) for value in values]
    answer = await house.browser().get("/whoami", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "Nothing was executed" in answer.json()["detail"]


async def test_nobody_gets_401_where_a_guard_asks(house: House) -> None:
    answer = await house.browser().get("/signed-in")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert house.statements == [0]


async def test_a_revoked_token_fails_on_the_next_call_of_the_same_connection(house: House) -> None:
    async with house.browser(headers=bearer(TOKEN)) as client:
        assert (await client.get("/whoami")).status_code == 200
        await house.db.write(tokens.revoke, "ops", house.clock())
        assert (await client.get("/whoami")).status_code == 401


async def test_a_disabled_owner_shuts_every_token_out_on_the_next_call(house: House) -> None:
    async with house.browser() as client:
        assert (await client.get("/mcp", headers=bearer(TOOLS_TOKEN))).status_code == 200
        await house.db.write(users.disable, " Ops@Example.test", house.clock())
        assert (await client.get("/mcp", headers=bearer(TOOLS_TOKEN))).status_code == 401
        assert (await client.get("/whoami", headers=bearer(TOKEN))).status_code == 401


async def test_a_token_works_up_to_its_last_second_and_not_at_it(house: House) -> None:
    async with house.browser(headers=bearer(TOKEN)) as client:
        house.clock.advance(days=30, seconds=-1)
        assert (await client.get("/whoami")).status_code == 200
        house.clock.advance(seconds=1)
        assert (await client.get("/whoami")).status_code == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/whoami"), ("GET", "/"), ("POST", "/close"), ("POST", "/operate"), ("POST", "/sign-out")],
)
async def test_a_tools_token_is_refused_everywhere_but_where_tools_are_called(
    house: House, method: str, path: str
) -> None:
    answer = await house.browser().request(method, path, headers=bearer(TOOLS_TOKEN))
    assert answer.status_code == 403
    assert "/mcp only" in answer.json()["detail"]


async def test_a_tools_token_is_a_principal_of_its_own_where_tools_are_called(house: House) -> None:
    answer = await house.browser().get("/mcp", headers=bearer(TOOLS_TOKEN))
    assert (answer.status_code, answer.text) == (200, "token:tools")


async def test_a_tools_tokens_abilities_are_its_scopes(house: House) -> None:
    holder = await house.db.read(tokens.find, tokens.hashed(TOOLS_TOKEN), house.clock())
    assert holder is not None
    assert holder.principal.abilities == {"tool:tickets_index"}


@pytest.mark.parametrize("token", [TOKEN, TOOLS_TOKEN, "junk"])
async def test_a_public_route_looks_at_no_credentials(house: House, token: str) -> None:
    answer = await house.browser().get("/health", headers=bearer(token))
    assert answer.json() == {"who": None, "how": None}
    assert house.statements == [0]


async def test_a_read_only_person_may_look_but_not_change_anything(house: House) -> None:
    async with house.browser(headers=bearer(READER_TOKEN)) as client:
        assert (await client.get("/signed-in")).status_code == 200
        assert (await client.get("/console/page")).status_code == 200
        assert (await client.post("/operate")).status_code == 403
        assert (await client.post("/close")).status_code == 403
