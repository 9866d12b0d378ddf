"""What only the built app can tell: its guards, its tools, and what its agents may call."""

import base64
import inspect
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from litestar import Litestar
from litestar.handlers import BaseRouteHandler
from litestar.routes import HTTPRoute

from app.check.finding import Finding, fail, warn
from app.main import build
from app.runtime.errors import WiringError
from app.runtime.tools.agent_route import MARK, Mark
from app.runtime.tools.catalog import Catalog
from config.agents import AGENTS
from config.settings import Settings


def findings() -> list[Finding]:
    """Build the app in an empty directory, and look at it."""
    with TemporaryDirectory() as directory:
        settings = Settings(data_dir=Path(directory), app_key=base64.b64encode(bytes(32)).decode())
        try:
            system = build(settings)
        except WiringError as error:
            return [fail("wiring", str(error))]
        try:
            return list(app_findings(system.litestar, AGENTS))
        finally:
            system.close()


def app_findings(app: Litestar, agents: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Raises WiringError when a tool has no name, or shares it."""
    handlers = list({id(handler): handler for route in app.routes for handler in _handlers(route)}.values())
    yield from _guard_findings(handlers)
    for handler in handlers:
        if MARK in handler.opt:
            yield from tool_findings(handler, handler.opt[MARK])
    yield from scope_findings(agents, {tool.name for tool in Catalog.of(app)})


def _guard_findings(handlers: Iterable[BaseRouteHandler]) -> Iterator[Finding]:
    """A plain `def` guard costs a thread hop on every request (about 150 us), and Workers have no threads."""
    guards = {g: str(handler) for handler in handlers for layer in handler.ownership_layers for g in layer.guards or ()}
    for guard, where in guards.items():
        if not inspect.iscoroutinefunction(guard):
            name = getattr(guard, "__name__", repr(guard))
            yield fail("guard", f"{where}: the guard {name} is not a coroutine function. Write it as `async def`.")


def scope_findings(agents: Mapping[str, Mapping[str, Any]], tools: set[str]) -> Iterator[Finding]:
    for agent, entry in agents.items():
        for scope in entry["scopes"]:
            if scope.removeprefix("tool:") not in tools:
                yield warn("scope", f'config/agents.py, {agent}: "{scope}" names no tool. There are: {sorted(tools)}.')


def tool_findings(handler: BaseRouteHandler, mark: Mark) -> Iterator[Finding]:
    if mark.approval != "required":
        return
    if "operation" not in handler.parsed_fn_signature.parameters:
        yield warn(
            "repeatable", f"{handler} is gated and takes no `operation`: spent without a verdict, it needs a look."
        )
    hidden = set(mark.redact) & set(inspect.signature(mark.preview).parameters if mark.preview else ())
    if hidden:
        yield fail(
            "preview", f"{handler}: its preview needs {sorted(hidden)}, which is redacted. Leave it out of either."
        )


def _handlers(route: Any) -> Iterable[BaseRouteHandler]:
    return route.route_handlers if isinstance(route, HTTPRoute) else [route.route_handler]
