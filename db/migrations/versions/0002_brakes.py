"""Brakes, and the tickets in order of their last activity"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "brakes",
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("at", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("agent"),
    )
    op.drop_index("tickets_by_activity", "tickets")
    op.create_index("tickets_by_activity", "tickets", ["status", "last_activity_at", "id"])
    op.create_index("approvals_of_subject", "approvals", ["subject", "requested_at"])
    standing = sa.text("ended = 'rejected' AND superseded_at IS NULL")
    op.create_index("approvals_remembered", "approvals", ["requested_at"], sqlite_where=standing)


def downgrade() -> None:
    op.drop_index("approvals_remembered", "approvals")
    op.drop_index("approvals_of_subject", "approvals")
    op.drop_index("tickets_by_activity", "tickets")
    op.create_index("tickets_by_activity", "tickets", ["status", "last_activity_at"])
    op.drop_table("brakes")
