"""Inserting a row that may be there already: the one place where the two databases need their own words for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:  # loaded only where PostgreSQL is used
    from sqlalchemy.dialects import postgresql


def insert_unless_there(conn: sa.Connection, table: sa.Table, row: Mapping[str, object]) -> bool:
    """Insert a row unless one with its key is there. False where it was."""
    # SQLAlchemy keeps no count of inserted rows on PostgreSQL, so the row that was inserted is asked for.
    inserted = insertion(conn, table, row).on_conflict_do_nothing().returning(sa.literal(1))
    return conn.execute(inserted).first() is not None


def insert_or_replace(conn: sa.Connection, table: sa.Table, row: Mapping[str, object], *, key: Sequence[str]) -> None:
    """Insert a row, or put its values in the place of those of the row with the same key."""
    values = {name: value for name, value in row.items() if name not in key}
    conn.execute(insertion(conn, table, row).on_conflict_do_update(index_elements=key, set_=values))


def insertion(conn: sa.Connection, table: sa.Table, row: Mapping[str, object]) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that can be told what to do where the row is there already."""
    if conn.dialect.name == "sqlite":
        return sqlite.insert(table).values(dict(row))
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table).values(dict(row))
