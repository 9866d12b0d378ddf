"""The receipt of any gated change of a ticket, not of a close alone"""

from alembic import op

revision = "0003"
down_revision = "0002"

# The statement that changes the ticket also ends its approval as used and writes the event. One statement, on SQLite
# and on D1, so no crash can part them.
RECEIPT = """
CREATE TRIGGER ticket_{column} AFTER UPDATE OF {column} ON tickets
WHEN NEW.{column} IS NOT NULL AND NEW.{column} IS NOT OLD.{column}
BEGIN
  UPDATE approvals SET ended = 'used', ended_at = NEW.updated_at WHERE id = NEW.{column};
  INSERT INTO events (subject, kind, actor, request_id, trace_id, data, at)
  SELECT subject, {kind}, principal_key, id, trace_id, {data}, NEW.updated_at
  FROM approvals WHERE id = NEW.{column};
END
"""
# The event is named after the status the ticket comes to, or else after the tool, and says what the preview said.
ANY = {
    "column": "changed_by_request",
    "kind": "iif(NEW.status = OLD.status, tool, NEW.status)",
    "data": "coalesce(json_extract(preview, '$.after'), '{}')",
}
CLOSE = {"column": "closed_by_request", "kind": "'closed'", "data": "'{}'"}


def upgrade() -> None:
    _replace(CLOSE, ANY)


def downgrade() -> None:
    _replace(ANY, CLOSE)


def _replace(old: dict[str, str], new: dict[str, str]) -> None:
    op.execute(f"DROP TRIGGER ticket_{old['column']}")
    op.execute(f"ALTER TABLE tickets RENAME COLUMN {old['column']} TO {new['column']}")
    op.execute(RECEIPT.format_map(new))
