"""Alembic's entry: migrates the connection that `app/migrations.py` hands it."""

from alembic import context

from db.schema import Base

with context.config.attributes["connection"].begin() as transaction:
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=Base.metadata,
        render_as_batch=True,
        transactional_ddl=True,
    )
    context.run_migrations()
