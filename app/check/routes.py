"""The routes as the app has them: who may use them, where they stand, and which of them are tools."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from litestar import Litestar
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.routes import HTTPRoute

from app.check.finding import Finding, error
from app.check.tools import guards_of, tool_findings
from app.check.tree import Tree
from app.main import look
from app.product import web
from app.runtime.durable.host import Host
from app.runtime.errors import WiringError
from app.runtime.instants import utc_now
from app.runtime.tools.agent_route import MARK
from app.runtime.tools.catalog import COMPANIONS, Catalog
from config.settings import ROOT, Settings
from db.engine import SqliteDatabase

NAME = re.compile("[A-Za-z0-9_-]{1,64}")  # what every model provider takes for a tool's name
WALL = ("/agents", "/agents/{rest:path}")  # refuses everybody, in routes/agents.py


def findings(_: Tree) -> Iterator[Finding]:
    """Raises what keeps the app from starting, unless a finding says it better."""
    try:
        yield from app_findings(look().litestar)
    except WiringError:
        found = list(app_findings(_routes()))
        if not any(each.level == "error" for each in found):
            raise
        yield from found


def catalog() -> Catalog:
    return Catalog.of(_routes())


def app_findings(app: Litestar) -> Iterator[Finding]:
    """Raises WiringError for what the catalog refuses, unless a finding says it better."""
    handlers = list({id(handler): handler for route in app.routes for handler in _handlers(route)}.values())
    marked = [handler for handler in handlers if isinstance(handler, HTTPRouteHandler) and MARK in handler.opt]
    yield from _guard_findings(handlers)
    yield from _wall_findings(app)
    misnamed = list(_name_findings(marked))
    yield from misnamed
    if not misnamed:
        tools = {tool.route: tool for tool in Catalog.of(app)}
        for handler in marked:
            yield from tool_findings(handler, tools[str(handler.name)], _where(handler.fn))


def _guard_findings(handlers: Iterable[BaseRouteHandler]) -> Iterator[Finding]:
    """A plain `def` guard costs a thread hop on every request (about 150 us), and Workers have no threads."""
    for guard in {guard: None for handler in handlers for guard in guards_of(handler)}:
        if not inspect.iscoroutinefunction(guard):
            name = getattr(guard, "__name__", repr(guard))
            yield error("guard-plain", _where(guard), f"The guard {name} is no coroutine. Write it as `async def`.")


def _wall_findings(app: Litestar) -> Iterator[Finding]:
    for route in app.routes:
        for handler in _handlers(route) if route.path not in WALL else ():
            if f"{route.path}/".startswith("/agents/"):
                said = f"{route.path} stands where nobody may reach an agent. Move it to /ops{route.path}."
                yield error("route-under-agents", _where(handler.fn), said)


def _name_findings(marked: Iterable[HTTPRouteHandler]) -> Iterator[Finding]:
    claimed: dict[str, list[HTTPRouteHandler]] = {}
    for handler in marked:
        name = (handler.name or "").replace(".", "_")
        claimed.setdefault(name, []).append(handler)
        if not name:
            said = f"{_path(handler)} is marked .agent() and has no name. Give the route one: its tool is called by it."
            yield error("tool-nameless", _where(handler.fn), said)
        elif not NAME.fullmatch(name):
            said = f'The tool "{name}" has a name of other than 1 to 64 letters, digits, _ and -. Rename its route.'
            yield error("tool-name", _where(handler.fn), said)
        elif name in COMPANIONS:
            said = f'The tool "{name}" bears a name that is taken on every surface. Rename its route {handler.name}.'
            yield error("tool-reserved", _where(handler.fn), said)
    for name, handlers in claimed.items():
        if name and len(handlers) > 1:
            where = " and ".join(_path(handler) for handler in handlers)
            said = f'{where} claim the tool name "{name}": {", ".join(str(h.name) for h in handlers)}. Rename one.'
            yield error("tool-twice", _where(handlers[1].fn), said)


def _routes() -> Litestar:
    settings = Settings()
    return web(settings, SqliteDatabase(settings.database), cast("Host", None), utc_now)  # nobody calls them


def _handlers(route: Any) -> Iterable[BaseRouteHandler]:
    """Ours: Litestar answers OPTIONS on its own."""
    handlers = route.route_handlers if isinstance(route, HTTPRoute) else [route.route_handler]
    return [handler for handler in handlers if handler.fn.__module__.partition(".")[0] != "litestar"]


def _path(handler: HTTPRouteHandler) -> str:
    return f"{'/'.join(sorted(handler.http_methods))} {min(handler.paths)}"


def _where(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    path = Path(code.co_filename)
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{code.co_firstlineno}"
