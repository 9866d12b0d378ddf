"""Every URL of the product, a file per surface. `.agent()` marks the two that are also tools."""

from litestar.types import ControllerRouterHandler

from routes import agents, approvals, brakes, console, health, jobs, schema, session, static, tickets

HANDLERS: list[ControllerRouterHandler] = [
    *health.routes,
    *tickets.routes,
    *approvals.routes,
    *agents.routes,
    *brakes.routes,
    *jobs.routes,
    *schema.routes,
    *session.routes,
    console.routes,
    static.static_file,
]
