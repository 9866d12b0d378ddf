"""Builders: a row with sensible values, of which a test states only what matters. Each returns the new row's id.

They are services, so a test writes `await database.write(a_ticket, title="Printer on fire")`.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from litestar import Litestar
from litestar.di import Provide
from litestar.types import ASGIApp, Receive, Scope, Send
from sqlalchemy import insert
from sqlalchemy.orm import Session

from app.domain import OperationId
from app.runtime.instants import to_text
from app.runtime.principal import Principal
from app.web.strict import TYPE_DECODERS, StrictRequest, TicketIdSchema, refuse_unknown_query
from db.engine import Database
from db.schema import ApprovalRow, CommentRow, LabelRow, TicketRow, UserRow
from routes import tickets
from routes.problems import EXCEPTION_HANDLERS

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)  # what the `now` fixture says
OPERATOR = Principal("operator", "1", "Ops On-Call", frozenset({"operate"}))
TRIAGER = Principal.agent("triager", "main")


def ago(days: float, now: datetime = NOW) -> str:
    return to_text(now - timedelta(days=days))


def a_ticket(session: Session, *, labels: tuple[str, ...] = (), age_days: float = 12, **columns: Any) -> int:
    """An open ticket without activity for `age_days`, whose last public word was an operator's."""
    created = ago(age_days)
    row = {"title": "Login page 500s on Safari", "created_at": created, "updated_at": created}
    row |= {"last_activity_at": created, "last_speaker": "operator"} | columns
    ticket_id: int = session.execute(insert(TicketRow).values(row).returning(TicketRow.id)).scalar_one()
    if labels:
        session.execute(insert(LabelRow), [{"ticket_id": ticket_id, "label": label} for label in labels])
    return ticket_id


def a_comment(session: Session, ticket_id: int, **columns: Any) -> int:
    row = {"ticket_id": ticket_id, "author_kind": "operator", "author_name": "Ops On-Call", "body": "Any news?"}
    row |= {"created_at": ago(12), "public": True} | columns
    comment_id: int = session.execute(insert(CommentRow).values(row).returning(CommentRow.id)).scalar_one()
    return comment_id


def an_operator(session: Session, **columns: Any) -> int:
    row = {"name": "Ops On-Call", "email": "ops@example.test", "abilities": ["operate"], "created_at": ago(30)}
    user_id: int = session.execute(insert(UserRow).values(row | columns).returning(UserRow.id)).scalar_one()
    return user_id


def an_approval(session: Session, ticket_id: int = 1, version: int = 1, **columns: Any) -> str:
    """An unanswered request of the triager to close the ticket, asked an hour ago."""
    row = {
        "id": f"request-{ticket_id}-{version}",
        "tool": "tickets_close",
        "input": {"ticket_id": ticket_id, "version": version},
        "fingerprint": f"close {ticket_id} at {version}",
        "principal_key": TRIAGER.key,
        "subject": f"ticket:{ticket_id}",
        "preview": {"summary": f"Closes ticket {ticket_id}.", "before": {}, "after": {}},
        "requested_at": ago(1 / 24),
        "expires_at": ago(-71 / 24),
    }
    request_id: str = session.execute(insert(ApprovalRow).values(row | columns).returning(ApprovalRow.id)).scalar_one()
    return request_id


def a_spent_approval(session: Session, ticket_id: int = 1, version: int = 1, **columns: Any) -> str:
    """A yes that its caller has consumed: the effect may run now."""
    said = {"decision": "approved", "decided_at": ago(0), "decided_by": "Ops On-Call", "use_by": ago(-1)}
    spent = {"claim_id": f"claim-{ticket_id}", "consumed_at": ago(0)}
    return an_approval(session, ticket_id, version, **(said | spent | columns))


def an_api(
    database: Database,
    *more_routes: Any,
    by: Principal | None = OPERATOR,
    operation: OperationId | None = None,
) -> httpx.AsyncClient:
    """A client of the ticket routes as `by` sees them. Who calls is given, so no statement is spent on finding out."""

    def signed_in(app: ASGIApp) -> ASGIApp:
        async def middleware(scope: Scope, receive: Receive, send: Send) -> None:
            scope["user"] = by
            await app(scope, receive, send)

        return middleware

    given = {"db": database, "by": by, "now": NOW, "operation": operation}
    app = Litestar(
        [*tickets.routes, *more_routes],
        request_class=StrictRequest,
        before_request=refuse_unknown_query,
        type_decoders=TYPE_DECODERS,
        plugins=[TicketIdSchema()],
        exception_handlers=EXCEPTION_HANDLERS,
        dependencies={name: _constant(value) for name, value in given.items()},
        middleware=[signed_in],
        openapi_config=None,
        logging_config=None,
    )
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


def _constant(value: Any) -> Provide:
    return Provide(lambda: value, sync_to_thread=False)
