"""Who drives a run, by its segment and its epoch: taken over, given back, issued again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import sqlalchemy as sa

from flyback.domain.run import RunId, RunStatus
from flyback.domain.wire import time_on_wire
from flyback.engine.log import OpenRun, RunState
from flyback.storage import tables as t

Enqueue = Callable[[sa.Connection, RunId, int], None]
"""Puts a segment of a run into the queue, in the transaction of the connection."""

_DRIVABLE = (RunStatus.PENDING.value, RunStatus.RUNNING.value)


def take(conn: sa.Connection, run_id: RunId, segment: int, worker_id: str, now: datetime) -> tuple[int, int] | None:
    """Make this process the driver; return its epoch and the deaths at the present step."""
    wanted = {"wanted": run_id, "at_segment": segment, "driver": worker_id, "at": time_on_wire(now)}
    taken = conn.execute(_TAKE, wanted).one_or_none()
    return (taken.epoch, taken.deaths) if taken is not None else None


def _taking_over() -> sa.Executable:
    r = t.workflow_runs.c
    died = sa.and_(r.status == RunStatus.RUNNING.value, r.step_started)
    deaths = sa.case((died, r.deaths + 1), else_=r.deaths)
    return (
        sa.update(t.workflow_runs)
        .where(
            r.run_uuid == sa.bindparam("wanted"),
            r.segment == sa.bindparam("at_segment"),
            r.status.in_(_DRIVABLE),
            r.root_run_id.is_(None),
        )
        .values(
            epoch=r.epoch + 1,
            status=RunStatus.RUNNING.value,
            worker_id=sa.bindparam("driver"),
            deaths=deaths,
            # A suspect's step begins when it has its turn.
            step_started=deaths == 0,
            started_at=sa.func.coalesce(r.started_at, sa.bindparam("at")),
        )
        .returning(r.epoch, r.deaths)
    )


_TAKE = _taking_over()
"""Built once: SQLAlchemy takes longer to put a statement together than the database to carry it out."""


def mark_begun(conn: sa.Connection, state: RunState) -> None:
    r = t.workflow_runs.c
    mine = (r.run_uuid == state.run_id, r.epoch == state.epoch)
    conn.execute(sa.update(t.workflow_runs).where(*mine).values(step_started=True))


def give_back(conn: sa.Connection, run_id: RunId, epoch: int) -> int | None:
    """Make a run PENDING with a new segment, which is returned; None where this epoch does not drive it."""
    r = t.workflow_runs.c
    mine = (r.run_uuid == run_id, r.epoch == epoch, r.status == RunStatus.RUNNING.value)
    given = sa.update(t.workflow_runs).where(*mine)
    given = given.values(segment=r.segment + 1, status=RunStatus.PENDING.value, worker_id=None)
    return conn.execute(given.returning(r.segment)).scalar_one_or_none()


def issue_again(conn: sa.Connection, run_id: RunId, segment: int, worker_id: str | None) -> int | None:
    """Replace a segment that is lost by a new one, for this process or for any; None where the run moved on meanwhile."""
    r = t.workflow_runs.c
    lost = sa.update(t.workflow_runs).where(r.run_uuid == run_id, r.segment == segment, r.status.in_(_DRIVABLE))
    # The status stays: a run that was RUNNING lost its driver, which take-over counts.
    again = lost.values(segment=r.segment + 1, worker_id=worker_id)
    return conn.execute(again.returning(r.segment)).scalar_one_or_none()


def open_runs(conn: sa.Connection) -> Sequence[OpenRun]:
    """Return every run that is PENDING or RUNNING, without those inside others."""
    r = t.workflow_runs.c
    found = sa.select(r.run_uuid, r.segment, r.status, r.worker_id).order_by(r.id)
    found = found.where(r.status.in_(_DRIVABLE), r.root_run_id.is_(None))
    return [
        OpenRun(RunId(row.run_uuid), row.segment, RunStatus(row.status), row.worker_id) for row in conn.execute(found)
    ]


def segment_of(conn: sa.Connection, run_id: RunId) -> int | None:
    return conn.execute(sa.select(t.workflow_runs.c.segment).where(t.workflow_runs.c.run_uuid == run_id)).scalar()
