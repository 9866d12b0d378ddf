"""The receipt of a gated change: the statement that changes a ticket ends its approval, and writes the event."""

import shutil
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app import migrations
from app.domain import OperationId
from app.services import tickets
from db.engine import Database
from db.schema import EventRow
from tests.support import TRIAGER, a_spent_approval, a_ticket

AT = "2026-03-09T12:00:00.000Z"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("preview", "data"),
    [
        ({"summary": "", "before": {"version": 1}, "after": {"status": "closed", "version": 2}}, "after"),
        ({"allowed": True}, None),  # what a tool without a preview says
    ],
)
async def test_the_event_of_an_approved_change_says_what_people_were_told(
    database: Database, now: datetime, preview: dict[str, Any], data: str | None
) -> None:
    ticket = await database.write(a_ticket)
    request = await database.write(a_spent_approval, ticket, preview=preview)
    await database.write(tickets.close, ticket, 1, by=TRIAGER, now=now, operation=OperationId(request))
    columns = (EventRow.kind, EventRow.actor, EventRow.request_id, EventRow.data)
    events = await database.read(lambda session: session.execute(select(*columns)).all())
    assert events == [("closed", TRIAGER.key, request, preview[data] if data else {})]


def test_a_receipt_keeps_its_value_and_its_effect_down_and_up(migrated: Path, tmp_path: Path) -> None:
    path = tmp_path / "moving.sqlite"
    shutil.copy(migrated, path)
    closed(path, 1, "changed_by_request")
    migrations.downgrade(path, "0002")
    closed(path, 2, "closed_by_request")
    migrations.upgrade(path)
    closed(path, 3, "changed_by_request")
    assert executed(path, "SELECT id, changed_by_request FROM tickets") == [(1, "r1"), (2, "r2"), (3, "r3")]
    assert executed(path, "SELECT kind, request_id FROM events") == [
        ("closed", "r1"),
        ("closed", "r2"),
        ("closed", "r3"),
    ]
    assert executed(path, "SELECT DISTINCT ended, ended_at FROM approvals") == [("used", AT)]


def closed(path: Path, ticket: int, column: str) -> None:
    row = {"id": ticket, "title": "x", "created_at": AT, "updated_at": AT, "last_activity_at": AT}
    request = {"id": f"r{ticket}", "tool": "tickets_close", "fingerprint": f"{ticket}", "principal_key": TRIAGER.key}
    insert(path, "tickets", row)
    insert(
        path,
        "approvals",
        request | {"subject": f"ticket:{ticket}", "input": "{}", "preview": "{}", "requested_at": AT, "expires_at": AT},
    )
    change = {"closed_at": AT, "status": "closed", column: request["id"]}
    names = ", ".join(f"{name} = ?" for name in change)
    executed(path, f"UPDATE tickets SET {names} WHERE id = ?", *change.values(), ticket)  # noqa: S608


def insert(path: Path, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    executed(path, f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values())  # noqa: S608


def executed(path: Path, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()
