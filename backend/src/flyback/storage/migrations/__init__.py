"""Makes a database's tables or brings them up to date, and refuses a database that a newer program made.

The steps are in `versions/`, one module each, the same on both databases. `HEAD` is the newest; it stands here so that a
start on an up-to-date database need not load the migration library. Neither does one on an empty database, which gets the
present tables at once: a test holds them and what the steps make against each other.
"""

from __future__ import annotations

import logging

import sqlalchemy as sa

from flyback.domain.errors import DatabaseNewerError
from flyback.storage import tables
from flyback.storage.workspace_view import workspace_view

_STEPS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009")
HEAD = _STEPS[-1]
_LOCK = 7_237_401
"""Of PostgreSQL's advisory locks, ours: two processes that start at once migrate one after the other."""
_VERSION = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))
"""As the migration library keeps it."""


def migrate(connection: sa.Connection) -> None:
    """Run what is missing, in the caller's transaction. Raises DatabaseNewerError."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if is_current(connection):
        return
    if sa.inspect(connection).has_table(_VERSION.name):
        upgrade(connection)
    else:
        _create(connection)


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
    if not sa.inspect(connection).has_table(_VERSION.name):
        return None
    return connection.execute(sa.select(_VERSION.c.version_num)).scalar_one_or_none()


def _create(connection: sa.Connection) -> None:
    tables.metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(workspace_view(connection.dialect.name))
    _VERSION.create(connection)
    connection.execute(_VERSION.insert().values(version_num=HEAD))


def upgrade(connection: sa.Connection) -> None:
    """Take every step that was not taken yet."""
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it tells of every plugin that it loads
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "flyback.storage:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
