"""Every table of the app's database. Instants are fixed-width UTC text, so they compare as text.

Each agent instance keeps its own state, schedules and parked calls in a database of its own (`runtime/durable`).
"""

from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, Integer, column, table, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# In three parts: D1 takes no pattern of more than 50 bytes.
IS_INSTANT = """
substr({0}, 1, 10) GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]'
AND substr({0}, 11, 9) GLOB 'T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]' AND substr({0}, 20) GLOB '.[0-9][0-9][0-9]Z'
"""


HEAD = "0005"  # the revision of the newest migration, known without loading Alembic
HOLDS_GOOD = "(ended IS NULL OR ended IN ('used', 'unknown'))"  # a yes that did not expire, and was not taken back


class Base(DeclarativeBase):
    type_annotation_map = {list[str]: JSON, dict[str, Any]: JSON}  # noqa: RUF012 (SQLAlchemy's own spelling)


class TicketRow(Base):
    __tablename__ = "tickets"

    id: Mapped[int] = mapped_column(primary_key=True)
    external_id: Mapped[str | None] = mapped_column(unique=True)
    title: Mapped[str]
    body: Mapped[str] = mapped_column(server_default="")
    requester: Mapped[str | None]
    status: Mapped[str] = mapped_column(server_default="open")
    priority: Mapped[str] = mapped_column(server_default="normal")
    category: Mapped[str | None]
    assignee: Mapped[str | None]
    created_at: Mapped[str]
    updated_at: Mapped[str]
    last_activity_at: Mapped[str]
    last_speaker: Mapped[str] = mapped_column(server_default="none")
    protected_until: Mapped[str | None]
    closed_at: Mapped[str | None]
    closed_by: Mapped[str | None]
    changed_by_request: Mapped[str | None]  # writing it ends that approval as used, in the same statement (a trigger)
    version: Mapped[int] = mapped_column(server_default="1")

    __table_args__ = (
        Index("tickets_by_status", "status", "id"),
        Index("tickets_by_activity", "status", "last_activity_at", "id"),
        Index("tickets_by_assignee", "assignee"),
        Index("tickets_by_category", "category"),
    )


# The words of titles and bodies, for MATCH: a virtual table, kept right by triggers of 0005. Its rowid is the ticket.
WORDS = table("ticket_words", column("rowid", Integer), column("ticket_words"))


class LabelRow(Base):
    __tablename__ = "labels"

    ticket_id: Mapped[int] = mapped_column(ForeignKey("tickets.id", ondelete="CASCADE"), primary_key=True)
    label: Mapped[str] = mapped_column(primary_key=True)

    __table_args__ = (Index("labels_by_label", "label", "ticket_id"),)


class CommentRow(Base):
    __tablename__ = "comments"

    id: Mapped[int] = mapped_column(primary_key=True)
    ticket_id: Mapped[int] = mapped_column(ForeignKey("tickets.id", ondelete="CASCADE"))
    author_kind: Mapped[str]  # operator, requester or agent
    author_name: Mapped[str]
    body: Mapped[str]
    created_at: Mapped[str]
    public: Mapped[bool]

    __table_args__ = (Index("comments_of_ticket", "ticket_id", "created_at"),)


class ApprovalRow(Base):
    """One question to a person. What they said (`decision` …) is kept apart from what became of it (`ended` …)."""

    __tablename__ = "approvals"

    id: Mapped[str] = mapped_column(primary_key=True)
    tool: Mapped[str]
    input: Mapped[dict[str, Any]]  # redacted
    fingerprint: Mapped[str]
    principal_key: Mapped[str]
    subject: Mapped[str]
    preview: Mapped[dict[str, Any]]
    because: Mapped[str | None]  # why its caller asks, in its own words
    shown: Mapped[str] = mapped_column(server_default="")  # a hash of what people are shown; no secret goes into it
    requested_at: Mapped[str]
    expires_at: Mapped[str]
    decision: Mapped[str | None]  # approved or rejected; never changes once recorded
    decided_at: Mapped[str | None]
    decided_by: Mapped[str | None]
    reason: Mapped[str | None]
    use_by: Mapped[str | None]
    claim_id: Mapped[str | None]
    consumed_at: Mapped[str | None]
    ended: Mapped[str | None]  # used, rejected, expired, cancelled or unknown
    ended_at: Mapped[str | None]
    ended_reason: Mapped[str | None]
    until_at: Mapped[str | None]  # a rejection is remembered until then; null means always
    superseded_at: Mapped[str | None]  # "ask again" was pressed
    trace_id: Mapped[str | None]

    __table_args__ = (
        Index("approvals_of_call", "principal_key", "tool", "fingerprint"),
        # Never two live cards for one call, whatever the code does.
        Index(
            "approvals_live", "principal_key", "tool", "fingerprint", unique=True, sqlite_where=text("ended IS NULL")
        ),
        Index("approvals_by_request", "requested_at"),
        Index("approvals_of_subject", "subject", "requested_at"),
        Index(
            "approvals_remembered", "requested_at", sqlite_where=text("ended = 'rejected' AND superseded_at IS NULL")
        ),
        # The tabs of the console, each in its order: see services/approval_list.py.
        Index("approvals_unended", "expires_at", sqlite_where=text("ended IS NULL")),
        Index("approvals_agreed", "decided_at", sqlite_where=text(f"decision = 'approved' AND {HOLDS_GOOD}")),
        Index("approvals_ended", "ended", "ended_at"),
        # Text that is no instant would compare as later than any, and so never expire.
        CheckConstraint(IS_INSTANT.format("expires_at"), name="expires_at_is_an_instant"),
        CheckConstraint(IS_INSTANT.format("use_by"), name="use_by_is_an_instant"),
        CheckConstraint(IS_INSTANT.format("until_at"), name="until_at_is_an_instant"),
    )


class BrakeRow(Base):
    """`agent` does nothing until the row is gone: no schedule, no call, no answer. `*` means every caller of tools."""

    __tablename__ = "brakes"

    agent: Mapped[str] = mapped_column(primary_key=True)  # as in config/agents.py, or *
    by: Mapped[str]
    at: Mapped[str]
    note: Mapped[str | None]


class EventRow(Base):
    """History: one row per change of a ticket, per answer, withdrawal and undo. An ask is its approval row."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(primary_key=True)
    subject: Mapped[str]  # ticket:41
    kind: Mapped[str]
    actor: Mapped[str]  # a principal key
    request_id: Mapped[str | None]
    trace_id: Mapped[str | None]
    data: Mapped[dict[str, Any]]
    at: Mapped[str]

    __table_args__ = (Index("events_of_subject", "subject", "at"),)


class UserRow(Base):
    __tablename__ = "users"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    email: Mapped[str] = mapped_column(unique=True)
    abilities: Mapped[list[str]]
    created_at: Mapped[str]
    disabled_at: Mapped[str | None]


class TokenRow(Base):
    """`kind` is operator (acts as its owner) or tools (may only call tools, at /mcp). Only a hash is kept."""

    __tablename__ = "api_tokens"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    hashed: Mapped[str] = mapped_column(unique=True)
    scopes: Mapped[list[str]]
    created_at: Mapped[str]
    expires_at: Mapped[str | None]
    revoked_at: Mapped[str | None]


class SessionRow(Base):
    """A browser that signed in. `id` is the SHA-256 of the cookie. It dies with its token and its owner."""

    __tablename__ = "sessions"

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    token_id: Mapped[str | None] = mapped_column(ForeignKey("api_tokens.id", ondelete="CASCADE"))
    created_at: Mapped[str]
    last_seen_at: Mapped[str]
    expires_at: Mapped[str]


class SignInLinkRow(Base):
    """A one-use link that `triager dev` prints. `id` is the SHA-256 of its secret; using it deletes the row."""

    __tablename__ = "sign_in_links"

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    expires_at: Mapped[str]
