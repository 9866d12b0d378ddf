"""The one way in: scope, brakes, budget, validation, approval, dispatch, in this order, for every caller and surface.

Answers are results (`Done`, `Pending`, `Denied`, `Failed`). Only wiring bugs raise: a tool nobody declared, say.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from app.runtime import invocation
from app.runtime.errors import WiringError
from app.runtime.instants import Clock
from app.runtime.principal import InProcess, Principal
from app.runtime.registration import OPEN_REQUESTS
from app.runtime.tools import companions, gate
from app.runtime.tools.approvals import ApprovalStore, NewRequest
from app.runtime.tools.audit import Audit, LogSink, Sink, Surface, Who
from app.runtime.tools.brakes import Brakes
from app.runtime.tools.budget import Meter
from app.runtime.tools.catalog import STATUS, Catalog, Tool
from app.runtime.tools.direct import DirectCall, DirectGate
from app.runtime.tools.dispatch import ASGIApp, dispatch
from app.runtime.tools.fingerprint import fingerprint
from app.runtime.tools.redact import redact, redact_text
from app.runtime.tools.results import Denied, Done, Failed, Outcome, Pending, ToolResult
from app.runtime.tools.scopes import granted

SERVER_ERROR = 500
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, what it may call, how often, and where its waiting calls are kept: None for one that calls again."""

    principal: Principal
    scopes: tuple[str, ...]
    meter: Meter
    parking: gate.Parking | None
    open_requests: int = OPEN_REQUESTS
    surface: Surface = "agent"

    @property
    def who(self) -> Who:
        return Who(self.principal.key, self.surface)


class Pipeline:
    """`bind` completes it: the app's routes dispatch through the pipeline's callers, so one must come first."""

    def __init__(
        self,
        store: ApprovalStore,
        clock: Clock,
        new_id: Callable[[], str],
        notify: Callable[[NewRequest], None],
        sink: Sink | None = None,
    ) -> None:
        self._store, self._clock, self._new_id, self._notify = store, clock, new_id, notify
        self._audit = Audit(sink or LogSink(), clock)
        self._direct = DirectGate(store, clock, new_id, notify)
        self._bound: tuple[ASGIApp, Catalog] | None = None
        self.brakes = Brakes()  # the host keeps it up to date

    def bind(self, app: ASGIApp, catalog: Catalog) -> None:
        self._bound = app, catalog

    @property
    def catalog(self) -> Catalog:
        return self._parts()[1]

    async def invoke(
        self, caller: Caller, name: str, arguments: dict[str, Any], because: str | None = None
    ) -> ToolResult:
        """Carry out one call, or say why not. Raises ToolNotFound when no route declares the tool."""
        tool = self.catalog.get(name)
        return await self._audit.watch(caller.who, tool, arguments, self._invoke(caller, tool, arguments, because))

    async def _invoke(
        self,
        caller: Caller,
        tool: Tool,
        arguments: dict[str, Any],
        because: str | None = None,
        *,
        rehearsal: bool = False,
    ) -> ToolResult:
        if refusal := self.out_of_scope(caller, tool.name):
            return refusal
        looks = tool.read_only and invocation.reading()  # a dry run: it stops for no brake, and uses no call up
        write = not rehearsal and not tool.read_only
        if not looks and (refusal := self._halted(caller) or self._over_budget(caller, write=write)):
            return refusal
        try:
            valid = tool.validate(arguments)
        except ValueError as error:
            return _invalid(error)
        if tool.gated and not rehearsal:
            return await self._ask(caller, tool, valid, because)
        return await self._dispatch(tool, valid, InProcess(caller.principal, rehearsal=rehearsal))

    async def preflight(self, caller: Caller, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Would this call be refused? Costs a call; asks nobody and changes nothing."""
        tool = self.catalog.get(name)
        work = self._invoke(caller, tool, arguments, rehearsal=True)
        return await self._audit.watch(caller.who, tool, arguments, work, "preflight")

    async def approval_status(self, caller: Caller, request_id: str) -> ToolResult:
        """How a request of the caller's own stands. It costs no budget, and is answered while all else is halted."""
        found = await self._store.statuses([request_id], self._clock(), caller.principal.key)
        result = companions.standing(request_id, found.get(request_id))
        self._audit.note(caller.who, STATUS, result, "call", request_id)
        return result

    async def resume(self, caller: Caller, name: str, arguments: dict[str, Any], request_id: str) -> ToolResult:
        """Carry out a call whose approval has been spent under `request_id`. It costs no budget: a person said yes."""
        tool = self.catalog.get(name)
        work = self._resume(caller, tool, arguments, request_id)
        return await self._audit.watch(caller.who, tool, arguments, work, "delivery", request_id)

    async def _resume(self, caller: Caller, tool: Tool, arguments: dict[str, Any], request_id: str) -> ToolResult:
        if halted := self._halted(caller):
            return halted
        return await self._dispatch(tool, arguments, InProcess(caller.principal, operation=request_id))

    def dropped(self, caller: Caller, name: str, request_id: str, why: str) -> None:
        """A call that waited will not be made: that is written down too."""
        self._audit.note(caller.who, name, Denied("approval", why), "delivery", request_id)

    def out_of_scope(self, caller: Caller, name: str) -> Denied | None:
        if name in self.catalog and granted(caller.scopes, name):
            return None
        fix = f'To allow it, add "tool:{name}" to its scopes.'
        return Denied("scope", f'{caller.principal.key} may not call "{name}". Nothing was executed. {fix}')

    def _halted(self, caller: Caller) -> Denied | None:
        brake = self.brakes.halted(caller.principal.key)
        return gate.halted(brake) if brake else None

    def _over_budget(self, caller: Caller, *, write: bool) -> Denied | None:
        full = caller.meter.refusal(self._clock(), write=write)
        return Denied("rate-limit", f"{full} Nothing was executed. Try again in a minute.") if full else None

    async def _ask(self, caller: Caller, tool: Tool, arguments: dict[str, Any], because: str | None) -> ToolResult:
        now, mark, parking = self._clock(), fingerprint(arguments), caller.parking
        rehearse = partial(self._dispatch, tool, arguments, InProcess(caller.principal, rehearsal=True))
        question = partial(self._question, caller, tool, arguments, because)
        if parking is None:
            run = partial(self.resume, caller, tool.name, arguments)
            call = DirectCall(tool.name, tool.repeatable, mark, caller.principal.key, rehearse, run, question)
            return await self._direct.call(call)
        if waiting := parking.waiting(tool.name, mark):
            return Pending(waiting, tool.name, "This call is waiting already. Nothing was executed.")
        parked = gate.ParkedCall(self._new_id(), tool.name, tool.subject(arguments), mark, arguments)
        await parking.intend(parked, now)
        rehearsal = await rehearse()
        if not isinstance(rehearsal, Done) or rehearsal.outcome.is_error:
            parking.forget(parked.request_id)  # nothing impossible is ever put to a person
            return rehearsal
        asked = question(parked.request_id, rehearsal.outcome.body)
        return await gate.ask(parking, self._store, self._notify, asked, now)

    def _question(
        self,
        caller: Caller,
        tool: Tool,
        arguments: dict[str, Any],
        because: str | None,
        request_id: str,
        preview: dict[str, Any],
    ) -> NewRequest:
        subject = tool.subject(arguments)
        return NewRequest(
            id=request_id,
            tool=tool.name,
            input=redact(arguments, tool.mark.redact, lengths=True),
            fingerprint=fingerprint(arguments),
            principal_key=caller.principal.key,
            subject=subject,
            preview=redact(preview, tool.mark.redact),
            because=because and redact_text(because),
            open_max=caller.open_requests,
            refused_subject=subject if tool.mark.no_is_final and caller.principal.kind == "agent" else None,
        )

    async def _dispatch(self, tool: Tool, arguments: dict[str, Any], call: InProcess) -> ToolResult:
        try:
            outcome = await dispatch(self._parts()[0], tool, arguments, call)
        except Exception as error:
            log.exception("dispatch_failed", tool=tool.name)
            return Failed(f"{tool.name} threw {type(error).__name__}.")
        if outcome.status >= SERVER_ERROR:
            return Failed(f"{tool.name} answered {outcome.status}: {outcome.message}")
        return Done(outcome)

    def _parts(self) -> tuple[ASGIApp, Catalog]:
        if self._bound is None:
            raise WiringError("The pipeline has no app yet: call bind(app, catalog) first.")
        return self._bound


def _invalid(error: ValueError) -> Done:
    return Done(
        Outcome(422, {"status": 422, "title": "Invalid arguments", "detail": f"{error}. Nothing was executed."})
    )
