"""Brings a database's tables up to date, and refuses one that a newer program made.

The steps are in `versions/`, one module each, the same on both databases. `HEAD` is the newest; it stands here so that a
start on an up-to-date database need not load the migration library.
"""

from __future__ import annotations

import logging

import sqlalchemy as sa

from flyback.domain.errors import DatabaseNewerError

_STEPS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009")
HEAD = _STEPS[-1]
_LOCK = 7_237_401
"""Of PostgreSQL's advisory locks, ours: two processes that start at once migrate one after the other."""


def migrate(connection: sa.Connection) -> None:
    """Run what is missing, in the caller's transaction. Raises DatabaseNewerError."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if not is_current(connection):
        _upgrade(connection)


def is_current(connection: sa.Connection) -> bool:
    """Whether nothing is missing. Raises DatabaseNewerError."""
    present = _present(connection)
    if present is not None and present not in _STEPS:
        raise DatabaseNewerError(
            f"This database was made by a newer Flyback (its tables are at {present!r}, this program knows {HEAD!r}).",
            fix="Start the newer version again, or use another data folder.",
        )
    return present == HEAD


def _present(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _upgrade(connection: sa.Connection) -> None:
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it tells of every plugin that it loads
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "flyback.storage:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
