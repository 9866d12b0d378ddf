"""What every peer asks the database, and how each is served."""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any, cast

import uvicorn
from sqlalchemy import Table, and_, bindparam, func, or_, select, true

from app.schemas import TicketOut
from db.schema import LabelRow, TicketRow, TokenRow, UserRow

tickets, labels = cast("Table", TicketRow.__table__), cast("Table", LabelRow.__table__)
tokens, users = cast("Table", TokenRow.__table__), cast("Table", UserRow.__table__)
FIELDS = TicketOut.__struct_fields__
LABELS_AT = FIELDS.index("labels")
ROWS, COUNTED = 50, 1_000

WHO = (
    select(tokens.c.kind, tokens.c.scopes, users.c.name, users.c.abilities)
    .join_from(tokens, users, users.c.id == tokens.c.user_id)
    .where(
        tokens.c.hashed == bindparam("hashed"),
        users.c.disabled_at.is_(None),
        tokens.c.revoked_at.is_(None),
        or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > bindparam("now")),
    )
)


def _count(condition: Any) -> Any:
    some = select(tickets.c.id).where(condition).limit(COUNTED).subquery()
    return select(func.count()).select_from(some).scalar_subquery()


def _list() -> Any:
    """The page beside its two counts, as our own list has it."""
    array = select(func.json_group_array(labels.c.label)).where(labels.c.ticket_id == tickets.c.id).correlate(tickets)
    columns = [array.scalar_subquery().label("labels") if name == "labels" else tickets.c[name] for name in FIELDS]
    is_open = tickets.c.status == "open"
    stale = and_(is_open, tickets.c.last_activity_at < bindparam("inactive_since"))
    counts = select(_count(is_open).label("open"), _count(stale).label("stale")).subquery("counts")
    page = select(*columns).where(is_open).order_by(tickets.c.id).limit(ROWS + 1).subquery("page")
    return select(counts, page).select_from(counts.outerjoin(page, true()))


LIST = _list()


def serve(app: Any) -> None:
    """Until the process is ended. Says where, once it listens."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)  # noqa: T201 (for the process that started this)
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


def database() -> Path:
    return Path(sys.argv[1])
