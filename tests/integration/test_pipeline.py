"""The one way in: its order, its four answers, and what each costs."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from app.runtime.errors import AgentNotRegistered, ToolNotFound, WiringError
from app.runtime.principal import Principal, agent_of
from app.runtime.tools.pipeline import Pipeline
from app.runtime.tools.results import Denied, Done, Failed, Pending, why
from tests.support_tools import Depot, a_depot, statements

pytestmark = pytest.mark.anyio

Open = Callable[..., AbstractAsyncContextManager[Depot]]


@pytest.fixture
def opened(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    return lambda **courier: a_depot(tmp_path, migrated, monkeypatch, **courier)


async def test_the_four_answers(opened: Open) -> None:
    async with opened(scopes=("tool:parcels_send", "tool:parcels_find", "tool:parcels_break")) as depot:
        done = await depot.tools.call("parcels_find", {"label": "blue"})
        assert isinstance(done, Done)
        assert (done.outcome.status, done.outcome.body, why(done)) == (200, {"label": "blue"}, None)
        assert isinstance(await depot.send({"parcel_id": 7}), Pending)
        denied = await depot.tools.call("tickets_index", {})
        assert isinstance(denied, Denied)
        assert (denied.reason, denied.rejected) == ("scope", False)
        failed = await depot.tools.call("parcels_break", {})
        assert isinstance(failed, Failed)
        assert "500" in failed.message
        assert "hunter2" not in failed.message


async def test_what_no_route_declares_is_a_bug_and_raises(opened: Open) -> None:
    async with opened() as depot:
        for call in (depot.tools.call, depot.tools.preflight):
            with pytest.raises(ToolNotFound, match=r"No tool is named \"parcels.send\".*parcels_send"):
                await call("parcels.send", {"parcel_id": 7})
        with pytest.raises(AgentNotRegistered, match="courier, triager"):
            depot.world.system.host.get("postman", "main")


async def test_a_pipeline_without_an_app_is_a_bug_and_raises(opened: Open) -> None:
    async with opened() as depot:
        unbound = Pipeline(depot.world.system.host._parts.store, depot.world.clock, str, lambda _: None)
        with pytest.raises(WiringError, match="bind"):
            _ = unbound.catalog


async def test_a_scope_refusal_comes_first_says_how_to_allow_it_and_is_free(opened: Open) -> None:
    async with opened(scopes=("tool:parcels_find",), calls_per_minute=1) as depot:
        ran = statements(depot.world.system.db)
        for call in (depot.tools.call, depot.tools.preflight):
            refused = await call("parcels_send", {"nonsense": 1})
            assert isinstance(refused, Denied)
            assert refused.reason == "scope"
            assert 'agent:courier:main may not call "parcels_send". Nothing was executed.' in refused.message
            assert '"tool:parcels_send"' in refused.message
        assert isinstance(await depot.tools.call("parcels_find", {"label": "a"}), Done)
        assert isinstance(await depot.send({}), Denied)
        assert ran == []


async def test_the_budget_comes_before_validation_and_asks_nobody(opened: Open) -> None:
    async with opened(calls_per_minute=1) as depot:
        assert isinstance(await depot.tools.call("parcels_find", {"label": 1}), Done)  # invalid, and it counts
        refused = await depot.send({"parcel_id": 7})
        assert isinstance(refused, Denied)
        assert refused.reason == "rate-limit"
        assert "More than 1 calls in a minute. Nothing was executed." in refused.message
        assert await depot.rows() == depot.ledger() == []
        depot.world.clock.advance(seconds=60)
        assert isinstance(await depot.send({"parcel_id": 7}), Pending)


async def test_parked_calls_repeats_and_preflights_cost_and_instances_are_metered_apart(opened: Open) -> None:
    async with opened(calls_per_minute=3) as depot:
        await depot.send({"parcel_id": 7})
        await depot.send({"parcel_id": 7})
        await depot.tools.preflight("parcels_send", {"parcel_id": 7})
        assert isinstance(await depot.send({"parcel_id": 8}), Denied)
        assert isinstance(await depot.tools_of("other").call("parcels_send", {"parcel_id": 7}), Pending)


async def test_a_call_that_a_person_approved_costs_no_budget(opened: Open) -> None:
    async with opened(calls_per_minute=1) as depot:
        asked = await depot.send({"parcel_id": 7})
        await depot.world.approve(asked.request_id)
        assert len(depot.sent) == 1


async def test_a_preflight_tells_what_the_route_would_and_asks_nobody(opened: Open) -> None:
    async with opened() as depot:
        verdict = await depot.tools.preflight("parcels_send", {"parcel_id": 7, "note": "x"})
        assert isinstance(verdict, Done)
        assert verdict.outcome.body["summary"] == "Sends parcel 7: x."
        gone = await depot.tools.preflight("parcels_send", {"parcel_id": 404})
        assert isinstance(gone, Done)
        assert gone.outcome.status == 409
        misfit = await depot.tools.preflight("parcels_send", {"parcel_id": "7"})
        assert isinstance(misfit, Done)
        assert misfit.outcome.status == 422
        found = await depot.tools.preflight("parcels_find", {"label": "blue"})
        assert isinstance(found, Done)
        assert found.outcome.body == {"allowed": True}
        assert depot.sent == depot.found == await depot.rows() == depot.ledger() == []


async def test_an_app_that_throws_is_a_failed_call(opened: Open) -> None:
    async with opened() as depot:
        pipeline = depot.world.system.host._parts.pipeline

        async def falls_over(*_: Any) -> None:
            raise OSError("hunter2")

        pipeline.bind(falls_over, depot.world.system.catalog)
        result = await depot.tools.call("parcels_find", {"label": "a"})
        assert result == Failed("parcels_find threw OSError.")


async def test_the_guards_of_the_route_meet_the_agent_itself(opened: Open) -> None:
    """`tickets.close` admits the triager and not the courier, whatever the courier's scopes say."""
    async with opened(scopes=("tool:tickets_close",)) as depot:
        result = await depot.tools.call("tickets_close", {"ticket_id": 1, "version": 1})
        assert isinstance(result, Done)
        assert result.outcome.status == 403
        assert "agent:courier:main" in result.outcome.message
        assert await depot.rows() == depot.ledger() == []


async def test_no_header_makes_a_caller_an_agent(opened: Open) -> None:
    async with opened() as depot:
        depot.world.client.headers.pop("authorization")
        forged = {"triager.in_process": "agent:triager:main", "X-Triager-In-Process": "1"}
        answer = await depot.world.client.get("/tickets", headers=forged)
        assert answer.status_code == 401


@pytest.mark.parametrize(
    ("instance", "key"),
    [
        ("main", "agent:courier:main"),
        ("inbox:1", "agent:courier:inbox%3A1"),
        ("inbox%3A1", "agent:courier:inbox%253A1"),
    ],
)
async def test_a_principal_key_names_one_instance(opened: Open, instance: str, key: str) -> None:
    assert Principal.agent("courier", instance).key == key
    assert agent_of(key) == ("courier", instance)
    async with opened() as depot:
        await depot.tools_of(instance).call("parcels_send", {"parcel_id": 7})
        [row] = await depot.rows()
        assert row.principal_key == key


@pytest.mark.parametrize("key", ["operator:1", "token:agent:x", "agent:courier", "", "agents:courier:main"])
def test_nobody_else_has_an_agents_key(key: str) -> None:
    assert agent_of(key) is None
