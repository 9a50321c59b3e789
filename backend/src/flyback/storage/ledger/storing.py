"""How a commit gets into the rows: by itself on its database's fast way, or in one transaction with the runs it concerns."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import datetime
from typing import TYPE_CHECKING, cast

import sqlalchemy as sa

from flyback.domain.run import RunStatus
from flyback.engine.failpoints import hit
from flyback.engine.log import AnsweredError, Commit, FencedError
from flyback.storage import tables as t
from flyback.storage.database import Database
from flyback.storage.ledger.ending import end_inside
from flyback.storage.ledger.inner import lock_driver, tell
from flyback.storage.ledger.postgres import store as store_on_postgres
from flyback.storage.ledger.postgres import store_within
from flyback.storage.ledger.rows import CommitRows
from flyback.storage.ledger.sqlite import store as store_on_sqlite

if TYPE_CHECKING:  # loaded only where PostgreSQL is used
    from psycopg import Connection


async def store(database: Database, commit: Commit, rows: CommitRows, now: datetime) -> bool:
    """Return whether there was a run to store it in. Raises FencedError."""
    if commit.closes_sub_runs or (commit.inside is not None and (commit.end or commit.rests)):
        return await database.write(lambda conn: _store_with_others(conn, commit, rows, now))
    if database.is_sqlite:
        # A cancelled wait does not undo what lies in the writer's queue, so nothing needs a shield here.
        return await database.write_raw(lambda raw: _store_at_point(raw, rows))
    return await asyncio.shield(_store_on_postgres(database, rows))


async def refuse_unless_stored(database: Database, rows: CommitRows) -> None:
    """A commit that found no row to update may have been stored by an earlier try, its reply lost.

    Raises:
        FencedError, AnsweredError: it was not.
    """
    r = t.workflow_runs.c
    asked = sa.select(r.epoch, r.step, r.status, r.last_event).where(r.run_uuid == rows.run_id)
    run = await database.persist(lambda: database.read(lambda conn: conn.execute(asked).one_or_none()))
    if run is None or run.epoch != rows.epoch:
        raise FencedError
    if run.step >= rows.step:
        return
    if rows.rests_at is not None and run.status == RunStatus.RUNNING.value and run.last_event != rows.rests_at:
        raise AnsweredError(run.last_event)
    raise FencedError


async def _store_on_postgres(database: Database, rows: CommitRows) -> bool:
    with database.naming_trouble(), database.counting_commit():
        async with database.pool.connection() as connection:
            stored = await store_on_postgres(connection, rows)
        hit(f"{rows.kind}.stored")
        return stored


def _store_at_point(raw: sqlite3.Connection, rows: CommitRows) -> bool:
    stored = store_on_sqlite(raw, rows)
    hit(f"{rows.kind}.stored")
    return stored


def _store_with_others(conn: sa.Connection, commit: Commit, rows: CommitRows, now: datetime) -> bool:
    """Write a commit that concerns other runs too: the one around it, or what is open inside. Raises FencedError."""
    inside = commit.inside
    outer = None if inside is None else lock_driver(conn, inside.parent_run_id, inside.parent_epoch)
    raw = conn.connection.driver_connection
    stored = store_on_sqlite(raw, rows) if isinstance(raw, sqlite3.Connection) else _store_within(conn, rows)
    if not stored:
        return False
    if commit.closes_sub_runs:
        end_inside(conn, commit.run_id, now)
    status = RunStatus.PAUSED if commit.end is None else commit.end.status
    if inside is not None and outer is not None and (commit.end or commit.rests):
        tell(conn, outer, commit.run_id, inside, status, now)
    hit(f"{rows.kind}.stored")
    return True


def _store_within(conn: sa.Connection, rows: CommitRows) -> bool:
    return store_within(cast("Connection", conn.connection.driver_connection), rows)
