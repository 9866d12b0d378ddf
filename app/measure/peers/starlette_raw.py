"""The floor: Starlette, one sqlite3 connection, json.dumps."""

import json
import sqlite3
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from sqlalchemy.dialects import sqlite
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.measure.peers.shared import FIELDS, LIST, ROWS, WHO, database, serve

NAMED = sqlite.dialect(paramstyle="named")


def app(path: Path) -> Starlette:
    connection = sqlite3.connect(path)
    who, listed = WHO.compile(dialect=NAMED), LIST.compile(dialect=NAMED)
    who_sql, list_sql, constants = str(who), str(listed), dict(listed.params)

    async def list_tickets(request: Request) -> Response:
        now = datetime.now(UTC).isoformat()
        hashed = sha256(request.headers["authorization"].removeprefix("Bearer ").encode()).hexdigest()
        if connection.execute(who_sql, {"hashed": hashed, "now": now}).fetchone() is None:
            return Response(status_code=401)
        rows = connection.execute(list_sql, constants | {"inactive_since": now}).fetchall()
        page = [dict(zip(FIELDS, row[2:], strict=True)) for row in rows[:ROWS]]
        for one in page:
            one["labels"] = json.loads(one["labels"])
        after = page[-1]["id"] if len(rows) > ROWS else None
        body = {"tickets": page, "next": after, "open": rows[0][0], "stale": rows[0][1]}
        return Response(json.dumps(body), media_type="application/json")

    return Starlette(routes=[Route("/tickets", list_tickets)])


if __name__ == "__main__":
    serve(app(database()))
