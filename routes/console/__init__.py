"""The console: pages for people, a file per page. The rules are the services'; see desk.py for how pages are made."""

from litestar import Router
from litestar.di import Provide

from app.auth import console
from routes.console import agent, inbox, live, sessions, tickets
from routes.console.desk import desk

pages = Router(
    "/",
    route_handlers=[*inbox.routes, *agent.routes, *sessions.routes, *tickets.routes],
    guards=[console],
    dependencies={"desk": Provide(desk)},
)
routes = Router("/", route_handlers=[pages, *live.routes], include_in_schema=False)
