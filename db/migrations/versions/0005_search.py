"""Words of tickets to search for, and what their lists and pages read in order"""

from alembic import op

revision = "0005"
down_revision = "0004"

# Holds the words and not the texts, which stay in `tickets`; kept right by triggers, in the same statement on SQLite
# and on D1. The prefixes are those of one to three letters: of longer ones, few words begin alike.
WORDS = """
CREATE VIRTUAL TABLE ticket_words USING fts5(
  title, body, content='tickets', content_rowid='id', tokenize='unicode61 remove_diacritics 2', prefix='1 2 3'
)
"""
TAKE = "INSERT INTO ticket_words (ticket_words, rowid, title, body) VALUES ('delete', OLD.id, OLD.title, OLD.body);"
GIVE = "INSERT INTO ticket_words (rowid, title, body) VALUES (NEW.id, NEW.title, NEW.body);"
TRIGGERS = {
    "ticket_words_added": ("INSERT", GIVE),
    "ticket_words_gone": ("DELETE", TAKE),
    "ticket_words_changed": ("UPDATE OF title, body", f"{TAKE} {GIVE}"),
}
REBUILD = "INSERT INTO ticket_words (ticket_words) VALUES ('rebuild')"


def upgrade() -> None:
    op.execute(WORDS)
    for name, (change, does) in TRIGGERS.items():
        op.execute(f"CREATE TRIGGER {name} AFTER {change} ON tickets BEGIN {does} END")
    op.execute(REBUILD)
    op.create_index("tickets_by_assignee", "tickets", ["assignee"])
    op.create_index("tickets_by_category", "tickets", ["category"])
    op.drop_index("ix_comments_ticket_id", "comments")
    op.create_index("comments_of_ticket", "comments", ["ticket_id", "created_at"])
    op.drop_index("events_of_subject", "events")
    op.create_index("events_of_subject", "events", ["subject", "at"])


def downgrade() -> None:
    op.drop_index("events_of_subject", "events")
    op.create_index("events_of_subject", "events", ["subject", "id"])
    op.drop_index("comments_of_ticket", "comments")
    op.create_index("ix_comments_ticket_id", "comments", ["ticket_id"])
    op.drop_index("tickets_by_category", "tickets")
    op.drop_index("tickets_by_assignee", "tickets")
    for name in TRIGGERS:
        op.execute(f"DROP TRIGGER {name}")
    op.execute("DROP TABLE ticket_words")
