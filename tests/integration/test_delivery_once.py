"""A gated tool that cannot tell whether it has run is never run twice; a tool that is gone is refused, not awaited."""

from pathlib import Path

import pytest
from litestar.params import FromPath

import app.main
from app.auth import signed_in
from app.runtime import steps
from app.runtime.steps import Step
from app.runtime.tools.agent_route import post
from tests import support_tools
from tests.support_tools import Depot, a_depot

pytestmark = pytest.mark.anyio

SCOPES = (*support_tools.SCOPES, "tool:bells_ring")


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A gated tool whose handler takes no `operation`: how often which bell rang."""
    rung: list[int] = []

    @post("/bells/{bell_id:int}/ring", name="bells.ring", guards=[signed_in], status_code=200).agent(
        description="Ring it.", approval="required"
    )
    async def ring(bell_id: FromPath[int]) -> dict[str, int]:
        rung.append(bell_id)
        return {"rung": len(rung)}

    routes = support_tools.parcel_routes
    monkeypatch.setattr(support_tools, "parcel_routes", lambda *given: [*routes(*given), ring])
    return rung


async def asked(depot: Depot) -> str:
    await depot.tools.call("bells_ring", {"bell_id": 7})
    [request] = await depot.world.pending()
    return request


async def test_it_runs_once_and_its_request_ends_as_used(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, rung: list[int]
) -> None:
    async with a_depot(tmp_path, migrated, monkeypatch, scopes=SCOPES) as depot:
        request = await asked(depot)
        await depot.world.approve(request)
        await depot.world.run_due(hours=2)
        assert rung == [7]
        assert (await depot.world.approval(request)).ended == "used"
        assert await depot.told() == [(request, "approved", "ok")]


@pytest.mark.parametrize("cut_off_at", [Step.CONSUMED, Step.DISPATCHED])
async def test_cut_off_after_its_approval_was_spent_it_needs_a_look_and_never_runs_again(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, rung: list[int], cut_off_at: Step
) -> None:
    def cut_off(step: Step) -> None:
        if step == cut_off_at:
            raise RuntimeError("cut off")

    async with a_depot(tmp_path, migrated, monkeypatch, scopes=SCOPES) as depot:
        request = await asked(depot)
        with monkeypatch.context() as patch:
            patch.setattr(steps, "_hook", [cut_off])
            await depot.world.approve(request)
    before = list(rung)
    async with a_depot(tmp_path, migrated, monkeypatch, scopes=SCOPES) as depot:
        await depot.world.run_due(hours=2)
        assert rung == before
        assert (await depot.world.approval(request)).ended == "unknown"
        assert await depot.told() == [(request, "unknown", None)]
        assert depot.ledger() == []


async def test_an_approved_call_of_a_tool_that_a_deploy_has_removed_is_cancelled(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, rung: list[int]
) -> None:
    async with a_depot(tmp_path, migrated, monkeypatch, scopes=SCOPES) as depot:
        request = await asked(depot)
        await depot.world.approve(request, wake=False)
    routes = support_tools.parcel_routes
    monkeypatch.setattr(support_tools, "parcel_routes", lambda *given: routes(*given)[:-1])
    async with a_depot(tmp_path, migrated, monkeypatch, scopes=SCOPES) as depot:
        assert app.main.AGENTS["courier"]["scopes"] == list(SCOPES)
        approval = await depot.world.approval(request)
        assert (approval.ended, (approval.ended_reason or "")[:9]) == ("cancelled", "refused: ")
        assert (rung, await depot.told()) == ([], [(request, "cancelled", None)])
