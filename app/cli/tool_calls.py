"""`triager tool call`, as the process does it that has the host: through the pipeline, like every other caller's."""

from typing import Any
from uuid import uuid4

from msgspec import Struct, ValidationError, convert, to_builtins

from app.domain import NotFound
from app.main import System
from app.runtime import invocation
from app.runtime.errors import ToolNotFound
from app.runtime.principal import Principal
from app.runtime.tools.catalog import STATUS
from app.runtime.tools.companions import ApprovalStatus, told, verdict
from app.runtime.tools.pipeline import Caller, Pipeline
from app.runtime.tools.results import Denied, Done, Failed, Pending, ToolResult
from app.services import users


class ToolCall(Struct):
    tool: str
    arguments: dict[str, Any]
    email: str  # of the person whom the machine's owner acts as
    preflight: bool


async def call(system: System, asked: Any) -> dict[str, Any]:
    """What it came to: `result` is done, pending, denied or failed. Raises NotFound for an unknown tool or person."""
    wanted = convert(asked, ToolCall)
    with invocation.begin(uuid4().hex):
        caller = await _caller(system, wanted.email)
        await system.host.follow_brakes()
        try:
            return {"tool": wanted.tool, **await _call(system, caller, wanted)}
        except ToolNotFound as error:
            raise NotFound(f"{error}. Nothing was executed.") from None


async def _caller(system: System, email: str) -> Caller:
    """A person with a shell: every tool that they may use, by its exact scope, and a budget like a token's."""
    person = await system.db.read(users.find, email)
    if person is None:
        raise NotFound(f"Nobody enabled has the address {email}. Nothing was executed. See: triager user list")
    principal = Principal("operator", str(person.id), person.name, frozenset(person.abilities))
    may_write = users.OPERATE in person.abilities
    scopes = tuple(f"tool:{tool.name}" for tool in system.catalog if tool.read_only or may_write)
    return Caller(principal, scopes, system.meters.of(principal.key), parking=None, surface="cli")


async def _call(system: System, caller: Caller, wanted: ToolCall) -> dict[str, Any]:
    pipeline = system.pipeline
    if wanted.tool == STATUS:
        return _came_to(await _standing(pipeline, caller, wanted.arguments))
    if wanted.preflight:
        result = await pipeline.preflight(caller, wanted.tool, wanted.arguments)
        said = verdict(pipeline.catalog.get(wanted.tool), result)
        return {"result": "done" if said.allowed else "denied", "answer": to_builtins(said)}
    return _came_to(await pipeline.invoke(caller, wanted.tool, wanted.arguments))


async def _standing(pipeline: Pipeline, caller: Caller, arguments: dict[str, Any]) -> ToolResult:
    try:
        return await pipeline.approval_status(caller, convert(arguments, ApprovalStatus).request_id)
    except ValidationError as error:
        return Failed(f"{error}. Nothing was executed.")


def _came_to(result: ToolResult) -> dict[str, Any]:
    """An answer of the route that is an error has failed, as far as a shell is concerned."""
    match result:
        case Done(outcome):
            word = "failed" if outcome.is_error or outcome.mismatch else "done"
            return {"result": word, "status": outcome.status, "answer": outcome.mismatch or outcome.body}
        case Pending():
            return {"result": "pending", "answer": told(result)}
        case Denied():
            answer = {"reason": result.reason, "message": result.message, "until": result.until}
            return {"result": "denied", "answer": answer}
        case Failed():
            return {"result": "failed", "answer": {"message": result.message}}
