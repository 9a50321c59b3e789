"""Forgets what is over: runs that ended long ago, large values that nothing names, keys and sessions that expired.

Each call is a small transaction of its own, so that nobody waits long for the database; it says how much it did, and who
calls goes on until that is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from flyback.domain.wire import time_on_wire
from flyback.storage import idempotency
from flyback.storage import tables as t

_ENDED = ("SUCCESS", "FAILED", "CANCELLED")
_RUNS_AT_ONCE = 50
_BLOBS_AT_ONCE = 100
_BLOB_REST = timedelta(hours=1)
"""How long a large value lies before it may be deleted: a commit that names it may be on its way."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Which runs stay. A run goes only when every limit that is set says so, and never in its first day: whoever repeats a
    request is told the run that it started."""

    days: int | None = None
    """Those that ended in so many days stay."""
    runs: int | None = None
    """The newest so many of each owner stay, sub-runs not counted."""

    @property
    def everything(self) -> bool:
        return self.days is None and self.runs is None


def forget_runs(conn: sa.Connection, keep: Keep, *, now: datetime) -> int:
    """Delete some runs with everything they have, their sub-runs included, and return how many."""
    if keep.everything:
        return 0
    r = t.workflow_runs.c
    found: list[tuple[int, str]] = []
    for owner_id in conn.execute(sa.select(r.owner_id).distinct()).scalars().all():
        found += _over(conn, owner_id, keep, now)[: _RUNS_AT_ONCE - len(found)]
    keys, names = [key for key, _ in found], [name for _, name in found]
    conn.execute(sa.delete(t.workflow_runs).where(sa.or_(r.id.in_(keys), r.root_run_id.in_(names))))
    return len(found)


def forget_blobs(conn: sa.Connection, *, now: datetime) -> int:
    """Delete some large values that no visit and no node names, and return how many."""
    b = t.blobs.c
    outputs = (t.workflow_run_visits.c.output_blob, t.workflow_run_nodes.c.output_blob)
    unnamed = [sa.not_(sa.exists().where(output == b.hash)) for output in outputs]
    rested = b.created_at < time_on_wire(now - _BLOB_REST)
    found = conn.execute(sa.select(b.hash).where(rested, *unnamed).limit(_BLOBS_AT_ONCE)).scalars().all()
    # Whoever names a value that is there already touches its time, so that the condition fails for it here.
    return conn.execute(sa.delete(t.blobs).where(b.hash.in_(found), rested, *unnamed)).rowcount


def forget_expired(conn: sa.Connection, *, now: datetime) -> None:
    """Delete idempotency keys and sessions whose time is over."""
    idempotency.forget_old(conn, now=now)
    conn.execute(sa.delete(t.sessions).where(t.sessions.c.expires_at < time_on_wire(now)))


def _over(conn: sa.Connection, owner_id: str, keep: Keep, now: datetime) -> Sequence[tuple[int, str]]:
    r = t.workflow_runs.c
    roots = sa.and_(r.owner_id == owner_id, r.root_run_id.is_(None))
    days = max(1, keep.days or 0)
    over = [roots, r.status.in_(_ENDED), r.finished_at < time_on_wire(now - timedelta(days=days))]
    over.append(r.created_at < time_on_wire(now - idempotency.KEPT))
    if keep.runs is not None:
        newest = sa.select(r.id).where(roots).order_by(r.id.desc()).offset(keep.runs).limit(1)
        over.append(r.id <= newest.scalar_subquery())
    rows = conn.execute(sa.select(r.id, r.run_uuid).where(*over).order_by(r.id).limit(_RUNS_AT_ONCE))
    return [(row.id, row.run_uuid) for row in rows]
