"""What the migration library runs: the steps, on the connection and in the transaction of the caller."""

from __future__ import annotations

from alembic import context

from flyback.storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # the transaction is the caller's
)
context.run_migrations()
