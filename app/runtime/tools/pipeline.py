"""The one way in: scope, brakes, budget, validation, approval, dispatch, in this order, for every caller and surface.

Answers are results (`Done`, `Pending`, `Denied`, `Failed`). Only wiring bugs raise: a tool nobody declared, say.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

from app.runtime.errors import WiringError
from app.runtime.instants import Clock
from app.runtime.principal import InProcess, Principal
from app.runtime.registration import OPEN_REQUESTS
from app.runtime.tools import gate
from app.runtime.tools.approvals import ApprovalStore, NewRequest
from app.runtime.tools.brakes import Brakes
from app.runtime.tools.budget import Meter
from app.runtime.tools.catalog import Catalog, Tool
from app.runtime.tools.dispatch import ASGIApp, dispatch
from app.runtime.tools.fingerprint import fingerprint
from app.runtime.tools.redact import redact
from app.runtime.tools.results import Denied, Done, Failed, Outcome, Pending, ToolResult, why
from app.runtime.tools.scopes import granted

SERVER_ERROR = 500
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, what it may call, how often, and where its waiting calls are kept."""

    principal: Principal
    scopes: tuple[str, ...]
    meter: Meter
    parking: gate.Parking
    open_requests: int = OPEN_REQUESTS


class Pipeline:
    """`bind` completes it: the app's routes dispatch through the pipeline's callers, so one must come first."""

    def __init__(
        self, store: ApprovalStore, clock: Clock, new_id: Callable[[], str], notify: Callable[[NewRequest], None]
    ) -> None:
        self._store, self._clock, self._new_id, self._notify = store, clock, new_id, notify
        self._bound: tuple[ASGIApp, Catalog] | None = None
        self.brakes = Brakes()  # the host keeps it up to date

    def bind(self, app: ASGIApp, catalog: Catalog) -> None:
        self._bound = app, catalog

    @property
    def catalog(self) -> Catalog:
        return self._parts()[1]

    async def invoke(self, caller: Caller, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Carry out one call, or say why not. Raises ToolNotFound when no route declares the tool."""
        tool = self.catalog.get(name)
        result = await self._invoke(caller, tool, arguments)
        self._audit(caller, tool, arguments, result)
        return result

    async def _invoke(self, caller: Caller, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        if refusal := self.out_of_scope(caller, tool.name) or self._halted(caller) or self._over_budget(caller):
            return refusal
        try:
            valid = tool.validate(arguments)
        except ValueError as error:
            return _invalid(error)
        if tool.gated:
            return await self._ask(caller, tool, valid)
        return await self._dispatch(tool, valid, InProcess(caller.principal))

    async def preflight(self, caller: Caller, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Would this call be refused? Costs a call; asks nobody and changes nothing."""
        tool = self.catalog.get(name)
        if refusal := self.out_of_scope(caller, name) or self._halted(caller) or self._over_budget(caller):
            return refusal
        try:
            return await self._dispatch(tool, tool.validate(arguments), InProcess(caller.principal, rehearsal=True))
        except ValueError as error:
            return _invalid(error)

    async def resume(self, caller: Caller, name: str, arguments: dict[str, Any], request_id: str) -> ToolResult:
        """Carry out a call whose approval has been spent under `request_id`. It costs no budget: a person said yes."""
        tool = self.catalog.get(name)
        result = self._halted(caller) or await self._dispatch(
            tool, arguments, InProcess(caller.principal, operation=request_id)
        )
        self._audit(caller, tool, arguments, result)
        return result

    def out_of_scope(self, caller: Caller, name: str) -> Denied | None:
        if granted(caller.scopes, self.catalog.get(name).name):
            return None
        fix = f'To allow it, add "tool:{name}" to its scopes.'
        return Denied("scope", f'{caller.principal.key} may not call "{name}". Nothing was executed. {fix}')

    def _halted(self, caller: Caller) -> Denied | None:
        brake = self.brakes.halted(caller.principal.key)
        return gate.halted(brake) if brake else None

    def _over_budget(self, caller: Caller) -> Denied | None:
        if caller.meter.take(self._clock()):
            return None
        limit = caller.meter.calls_per_minute
        return Denied(
            "rate-limit", f"More than {limit} calls in a minute. Nothing was executed. Try again in a minute."
        )

    async def _ask(self, caller: Caller, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        now, mark = self._clock(), fingerprint(arguments)
        if waiting := caller.parking.waiting(tool.name, mark):
            return Pending(waiting, tool.name, "This call is waiting already. Nothing was executed.")
        call = gate.ParkedCall(self._new_id(), tool.name, tool.subject(arguments), mark, arguments)
        await caller.parking.intend(call, now)
        rehearsal = await self._dispatch(tool, arguments, InProcess(caller.principal, rehearsal=True))
        if not isinstance(rehearsal, Done) or rehearsal.outcome.is_error:
            caller.parking.forget(call.request_id)  # nothing impossible is ever put to a person
            return rehearsal
        request = NewRequest(
            id=call.request_id,
            tool=tool.name,
            input=redact(arguments, tool.mark.redact),
            fingerprint=mark,
            principal_key=caller.principal.key,
            subject=call.subject,
            preview=rehearsal.outcome.body,
            open_max=caller.open_requests,
        )
        return await gate.ask(caller.parking, self._store, self._notify, request, now)

    async def _dispatch(self, tool: Tool, arguments: dict[str, Any], call: InProcess) -> ToolResult:
        try:
            outcome = await dispatch(self._parts()[0], tool, arguments, call)
        except Exception as error:
            log.exception("dispatch_failed", tool=tool.name)
            return Failed(f"{tool.name} threw {type(error).__name__}.")
        if outcome.status >= SERVER_ERROR:
            return Failed(f"{tool.name} answered {outcome.status}: {outcome.message}")
        return Done(outcome)

    def _audit(self, caller: Caller, tool: Tool, arguments: dict[str, Any], result: ToolResult) -> None:
        log.info(
            "tool_call",
            tool=tool.name,
            principal=caller.principal.key,
            arguments=redact(arguments, tool.mark.redact),
            result=type(result).__name__.lower(),
            why=why(result),
        )

    def _parts(self) -> tuple[ASGIApp, Catalog]:
        if self._bound is None:
            raise WiringError("The pipeline has no app yet: call bind(app, catalog) first.")
        return self._bound


def _invalid(error: ValueError) -> Done:
    return Done(
        Outcome(422, {"status": 422, "title": "Invalid arguments", "detail": f"{error}. Nothing was executed."})
    )
