"""Which processes drive runs: their beats, by the database's own clock.

The eldest of those that live and judge is the judge: one process at a time looks for runs of the dead, and when it dies or
is frozen itself, the next one follows after its lease. No lock is held for it, which a frozen process would keep.
A row is deleted when its process signs off; those of the dead when nothing names them any more.
"""

from __future__ import annotations

import socket
from datetime import datetime

import sqlalchemy as sa

from flyback.domain.wire import time_on_wire
from flyback.storage import tables as t
from flyback.storage.upsert import insertion


def beat(conn: sa.Connection, worker_id: str, *, now: datetime, judges: bool) -> None:
    row = {
        "id": worker_id,
        "host": socket.gethostname(),
        "started_at": time_on_wire(now),
        "beat_at": database_seconds(conn),
        "judges": judges,
    }
    begun = insertion(conn, t.workers, row)
    conn.execute(begun.on_conflict_do_update(index_elements=["id"], set_={"beat_at": begun.excluded.beat_at}))


def living(conn: sa.Connection, lease_seconds: float) -> frozenset[str]:
    return frozenset(conn.execute(sa.select(t.workers.c.id).where(_lives(conn, lease_seconds))).scalars())


def judge(conn: sa.Connection, lease_seconds: float) -> str | None:
    """Return who looks for runs of the dead at the moment."""
    w = t.workers.c
    judges = sa.select(w.id).where(w.judges, _lives(conn, lease_seconds)).order_by(w.started_at, w.id).limit(1)
    return conn.execute(judges).scalar_one_or_none()


def bury(conn: sa.Connection, older_than_seconds: float) -> int:
    """Delete the rows of those that have been dead for so long and that no open run names; return how many."""
    r = t.workflow_runs.c
    named = sa.select(r.worker_id).where(r.worker_id.is_not(None), r.status.in_(("PENDING", "RUNNING")))
    dead = sa.not_(_lives(conn, older_than_seconds))
    return conn.execute(sa.delete(t.workers).where(dead, t.workers.c.id.not_in(named))).rowcount


def sign_off(conn: sa.Connection, worker_id: str) -> None:
    conn.execute(sa.delete(t.workers).where(t.workers.c.id == worker_id))


def _lives(conn: sa.Connection, lease_seconds: float) -> sa.ColumnElement[bool]:
    return t.workers.c.beat_at > database_seconds(conn) - lease_seconds


def database_seconds(conn: sa.Connection) -> sa.ColumnElement[float]:
    if conn.dialect.name == "sqlite":
        return sa.literal_column("(julianday('now') - 2440587.5) * 86400.0", sa.Float)
    return sa.literal_column("extract(epoch FROM clock_timestamp())", sa.Float)
