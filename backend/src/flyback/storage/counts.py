"""How much there is, for the metrics. Counted over all owners: nothing of what they own is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from flyback.storage import workers
from flyback.storage.tables import workflow_pauses, workflow_run_visits, workflow_runs, workflows

_WORKER_SECONDS = 60.0
_WAITS = (workflow_runs.c.status == "PENDING", workflow_runs.c.root_run_id.is_(None))
"""Sub-runs are driven with the run that began them, and wait for nobody."""


@dataclass(frozen=True, slots=True)
class Counts:
    workflows: int
    runs: Mapping[str, int]
    """By status."""
    visits: int
    steps: int
    """Committed, of all runs."""
    events: int
    open_pauses: int
    oldest_waiting: datetime | None
    """When the run was accepted that has been waiting longest to be driven."""
    workers: int
    """That beat within the last minute; on SQLite none does."""


def read(conn: sa.Connection) -> Counts:
    by_status = sa.select(
        workflow_runs.c.status,
        sa.func.count().label("runs"),
        sa.func.sum(workflow_runs.c.step).label("steps"),
        sa.func.sum(workflow_runs.c.last_event).label("events"),
    ).group_by(workflow_runs.c.status)
    rows = conn.execute(by_status).all()
    return Counts(
        workflows=_count(conn, sa.select(sa.func.count()).where(workflows.c.deleted_at.is_(None))),
        runs={row.status: row.runs for row in rows},
        visits=_count(conn, sa.select(sa.func.count(workflow_run_visits.c.id))),
        steps=sum(row.steps for row in rows),
        events=sum(row.events for row in rows),
        open_pauses=_count(conn, sa.select(sa.func.count()).where(workflow_pauses.c.status == "OPEN")),
        oldest_waiting=_oldest_waiting(conn),
        workers=len(workers.living(conn, _WORKER_SECONDS)),
    )


def as_many_wait(conn: sa.Connection, limit: int) -> bool:
    """Whether so many runs, or more, wait to be driven."""
    return conn.execute(sa.select(workflow_runs.c.id).where(*_WAITS).limit(1).offset(limit - 1)).first() is not None


def answers(conn: sa.Connection) -> None:
    """Ask the database for something small."""
    conn.execute(sa.select(workflows.c.id).limit(1)).first()


def _oldest_waiting(conn: sa.Connection) -> datetime | None:
    waiting = sa.select(workflow_runs.c.created_at).where(*_WAITS).order_by(workflow_runs.c.id).limit(1)
    found = conn.execute(waiting).scalar_one_or_none()
    return None if found is None else datetime.fromisoformat(found)


def _count(conn: sa.Connection, query: sa.Select[int]) -> int:
    return conn.execute(query).scalar_one()
