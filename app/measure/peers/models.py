"""What FastAPI validates and serialises: the same fields, as its users declare them."""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from app.measure.peers.shared import FIELDS, LABELS_AT, ROWS


class Ticket(BaseModel):
    id: int
    external_id: str | None
    title: str
    status: str
    priority: str
    category: str | None
    assignee: str | None
    requester: str | None
    labels: list[str]
    created_at: str
    updated_at: str
    last_activity_at: str
    last_speaker: str
    protected_until: str | None
    closed_at: str | None
    closed_by: str | None
    version: int


class Page(BaseModel):
    tickets: list[Ticket]
    next: int | None
    open: int
    stale: int


def page(rows: Sequence[Any]) -> Page:
    tickets = [Ticket(**_named(row[2:])) for row in rows[:ROWS]]
    return Page(tickets=tickets, next=tickets[-1].id if len(rows) > ROWS else None, open=rows[0][0], stale=rows[0][1])


def _named(row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(FIELDS, row, strict=True)) | {"labels": json.loads(row[LABELS_AT])}
