"""Is the process up, and is it ready: the database at our schema, the agents running, no alarm far behind?"""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.runtime.durable.host import Host
from db.engine import Database
from db.schema import HEAD

LATE_MAX_S = 60.0


@get("/health", name="health", budget=0, public=True)
async def health() -> dict[str, bool]:
    """The process lives."""
    return {"ok": True}


@get("/health/ready", name="health.ready", budget=1, public=True, responses={503: ResponseSpec(dict[str, Any])})
async def ready(db: NamedDependency[Database], host: NamedDependency[Host]) -> Response[dict[str, Any]]:
    """503 until all is well. Tells what is, and nothing that a stranger could use."""
    try:
        schema = await db.read(_schema)
    except OperationalError:
        schema = None
    late_s = host.lag_s()
    checks = {"database": schema is not None, "schema": schema == HEAD, "host": late_s is not None}
    ok = all(checks.values()) and (late_s or 0) <= LATE_MAX_S
    return Response({"ok": ok, **checks, "alarms_late_s": late_s}, status_code=200 if ok else 503)


def _schema(session: Session) -> str | None:
    found: str | None = session.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return found


routes = (health, ready)
