"""Why a request is asked, a mark of what is shown of it, and the orders in which requests are listed"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("approvals", sa.Column("because", sa.String(), nullable=True))
    op.add_column("approvals", sa.Column("shown", sa.String(), server_default="", nullable=False))
    agreed = sa.text("decision = 'approved' AND (ended IS NULL OR ended IN ('used', 'unknown'))")
    op.create_index("approvals_agreed", "approvals", ["decided_at"], sqlite_where=agreed)
    op.create_index("approvals_ended", "approvals", ["ended", "ended_at"])


def downgrade() -> None:
    op.drop_index("approvals_ended", "approvals")
    op.drop_index("approvals_agreed", "approvals")
    op.drop_column("approvals", "shown")
    op.drop_column("approvals", "because")
