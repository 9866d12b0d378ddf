"""The first schema"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# In three parts: D1 takes no pattern of more than 50 bytes.
IS_INSTANT = """
substr({0}, 1, 10) GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]'
AND substr({0}, 11, 9) GLOB 'T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]' AND substr({0}, 20) GLOB '.[0-9][0-9][0-9]Z'
"""

# The receipt of a gated close: the statement that closes the ticket also ends its approval as used and writes the
# event. One statement, on SQLite and on D1, so no crash can part them.
CLOSED_BY_REQUEST = """
CREATE TRIGGER ticket_closed_by_request AFTER UPDATE OF closed_by_request ON tickets
WHEN NEW.closed_by_request IS NOT NULL AND NEW.closed_by_request IS NOT OLD.closed_by_request
BEGIN
  UPDATE approvals SET ended = 'used', ended_at = NEW.closed_at WHERE id = NEW.closed_by_request;
  INSERT INTO events (subject, kind, actor, request_id, trace_id, data, at)
  SELECT subject, 'closed', principal_key, id, trace_id, '{}', NEW.closed_at
  FROM approvals WHERE id = NEW.closed_by_request;
END
"""


def upgrade() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("input", sa.JSON(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("principal_key", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("preview", sa.JSON(), nullable=False),
        sa.Column("requested_at", sa.String(), nullable=False),
        sa.Column("expires_at", sa.String(), nullable=False),
        sa.Column("decision", sa.String(), nullable=True),
        sa.Column("decided_at", sa.String(), nullable=True),
        sa.Column("decided_by", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("use_by", sa.String(), nullable=True),
        sa.Column("claim_id", sa.String(), nullable=True),
        sa.Column("consumed_at", sa.String(), nullable=True),
        sa.Column("ended", sa.String(), nullable=True),
        sa.Column("ended_at", sa.String(), nullable=True),
        sa.Column("ended_reason", sa.String(), nullable=True),
        sa.Column("until_at", sa.String(), nullable=True),
        sa.Column("superseded_at", sa.String(), nullable=True),
        sa.Column("trace_id", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.CheckConstraint(IS_INSTANT.format("expires_at"), name="expires_at_is_an_instant"),
        sa.CheckConstraint(IS_INSTANT.format("use_by"), name="use_by_is_an_instant"),
        sa.CheckConstraint(IS_INSTANT.format("until_at"), name="until_at_is_an_instant"),
    )
    op.create_index("approvals_by_request", "approvals", ["requested_at"])
    op.create_index(
        "approvals_live",
        "approvals",
        ["principal_key", "tool", "fingerprint"],
        unique=True,
        sqlite_where=sa.text("ended IS NULL"),
    )
    op.create_index("approvals_of_call", "approvals", ["principal_key", "tool", "fingerprint"])
    op.create_index("approvals_unended", "approvals", ["expires_at"], sqlite_where=sa.text("ended IS NULL"))

    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=True),
        sa.Column("trace_id", sa.String(), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("at", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("events_of_subject", "events", ["subject", "id"])

    op.create_table(
        "tickets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=True),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("body", sa.String(), server_default="", nullable=False),
        sa.Column("requester", sa.String(), nullable=True),
        sa.Column("status", sa.String(), server_default="open", nullable=False),
        sa.Column("priority", sa.String(), server_default="normal", nullable=False),
        sa.Column("category", sa.String(), nullable=True),
        sa.Column("assignee", sa.String(), nullable=True),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("updated_at", sa.String(), nullable=False),
        sa.Column("last_activity_at", sa.String(), nullable=False),
        sa.Column("last_speaker", sa.String(), server_default="none", nullable=False),
        sa.Column("protected_until", sa.String(), nullable=True),
        sa.Column("closed_at", sa.String(), nullable=True),
        sa.Column("closed_by", sa.String(), nullable=True),
        sa.Column("closed_by_request", sa.String(), nullable=True),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("external_id"),
    )
    op.create_index("tickets_by_activity", "tickets", ["status", "last_activity_at"])
    op.create_index("tickets_by_status", "tickets", ["status", "id"])

    op.create_table(
        "users",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("abilities", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("disabled_at", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("email"),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("hashed", sa.String(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("expires_at", sa.String(), nullable=True),
        sa.Column("revoked_at", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hashed"),
    )
    op.create_index("ix_api_tokens_user_id", "api_tokens", ["user_id"])

    op.create_table(
        "comments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("ticket_id", sa.Integer(), nullable=False),
        sa.Column("author_kind", sa.String(), nullable=False),
        sa.Column("author_name", sa.String(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["ticket_id"], ["tickets.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_comments_ticket_id", "comments", ["ticket_id"])

    op.create_table(
        "labels",
        sa.Column("ticket_id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["ticket_id"], ["tickets.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("ticket_id", "label"),
    )
    op.create_index("labels_by_label", "labels", ["label", "ticket_id"])

    op.create_table(
        "sign_in_links",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("token_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("last_seen_at", sa.String(), nullable=False),
        sa.Column("expires_at", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["api_tokens.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.execute(CLOSED_BY_REQUEST)


def downgrade() -> None:
    op.execute("DROP TRIGGER ticket_closed_by_request")
    for table in (
        "sessions",
        "sign_in_links",
        "labels",
        "comments",
        "api_tokens",
        "users",
        "tickets",
        "events",
        "approvals",
    ):
        op.drop_table(table)
