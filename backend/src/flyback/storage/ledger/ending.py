"""An end that no driver writes: a cancel, recovery that is exhausted, state that cannot be read.

One transaction closes what is open, writes the only terminal event and raises the epoch, so that whoever drives the run
can write nothing more. The run's row is locked first, always.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from flyback.domain.events import NewEvent
from flyback.domain.graph import NodeId
from flyback.domain.run import NO_USAGE, Mode, RunId, RunStatus, StepStatus, Usage, VisitId
from flyback.domain.visit import Visit
from flyback.domain.wire import time_on_wire
from flyback.domain.workspace import Workspace
from flyback.engine import event_data
from flyback.engine.log import CLOSED_BY, NodeRecord, RunEnd
from flyback.storage import tables as t
from flyback.storage.decode import DamagedError, read_object, read_own_usage, read_time
from flyback.storage.encode import Encoder
from flyback.storage.ledger.calls import close_calls
from flyback.storage.ledger.rows import end_columns, snapshot_columns
from flyback.storage.ledger.state import read_visits, workspace_after

OPEN_RUN = (RunStatus.PENDING.value, RunStatus.RUNNING.value, RunStatus.PAUSED.value)
_OPEN_STEP = (StepStatus.RUNNING.value, StepStatus.PAUSED.value)


def end_run(
    conn: sa.Connection, run_id: RunId, end: RunEnd, terminal: NewEvent, now: datetime, *, epoch: int | None = None
) -> bool:
    """End a run that is open, at `epoch` where one is given; False where there was nothing to end."""
    r = t.workflow_runs.c
    finished_at = time_on_wire(now)
    still_open = [r.run_uuid == run_id, r.status.in_(OPEN_RUN)]
    if epoch is not None:
        still_open.append(r.epoch == epoch)
    locked = conn.execute(
        sa.update(t.workflow_runs)
        .where(*still_open)
        .values(epoch=r.epoch + 1, step=r.step + 1, worker_id=None, **end_columns(end, finished_at))
        .returning(r.id, r.mode, r.last_event, r.inputs_json)
    ).one_or_none()
    if locked is None:
        return False
    stopped = close_calls(conn, locked.id, now)
    if locked.mode == Mode.AGENTIC:
        events = _close_visits(conn, locked.id, locked.inputs_json, now)
    else:
        events = _close_nodes(conn, locked.id, now)
    p = t.workflow_pauses.c
    conn.execute(
        sa.update(t.workflow_pauses)
        .where(p.run_id == locked.id, p.status == "OPEN")
        .values(status=StepStatus.CANCELLED.value)
    )
    append_events(conn, locked.id, locked.last_event, [*stopped, *events, terminal], finished_at)
    end_inside(conn, run_id, now)
    return True


def end_inside(conn: sa.Connection, run_id: RunId, now: datetime) -> None:
    """Cancel whatever is open inside a run that has its end."""
    r = t.workflow_runs.c
    query = sa.select(r.run_uuid).where(r.parent_run_id == run_id, r.root_run_id.is_not(None), r.status.in_(OPEN_RUN))
    for inner in conn.execute(query.order_by(r.id)).scalars().all():
        end_run(conn, RunId(inner), RunEnd(RunStatus.CANCELLED), event_data.run_cancelled(CLOSED_BY), now)


def path_of(conn: sa.Connection, run_id: RunId) -> tuple[list[NodeId], NodeId | None]:
    """Return the nodes that ended, in order, and one that is open. Reads plain columns alone, which cannot be damaged."""
    r, v, n = t.workflow_runs.c, t.workflow_run_visits.c, t.workflow_run_nodes.c
    visits = sa.select(v.node_id, v.status).join(t.workflow_runs, r.id == v.run_id).order_by(v.sort_order)
    nodes = sa.select(n.node_id, n.status).join(t.workflow_runs, r.id == n.run_id).order_by(n.finished_at, n.node_id)
    steps = [*conn.execute(visits.where(r.run_uuid == run_id)), *conn.execute(nodes.where(r.run_uuid == run_id))]
    ended = [NodeId(step.node_id) for step in steps if step.status in (StepStatus.SUCCESS, StepStatus.FAILED)]
    return ended, next((NodeId(step.node_id) for step in steps if step.status in _OPEN_STEP), None)


def _close_visits(conn: sa.Connection, row_id: int, inputs_json: str, now: datetime) -> list[NewEvent]:
    after = _write_snapshot(conn, row_id, inputs_json)
    v = t.workflow_run_visits.c
    still_open = (v.run_id == row_id, v.status.in_(_OPEN_STEP))
    rows = conn.execute(sa.select(t.workflow_run_visits).where(*still_open).order_by(v.sort_order)).all()
    _close(conn, t.workflow_run_visits, row_id, now, attempts="attempts")
    events: list[NewEvent] = []
    for row in rows:
        visit = Visit(
            visit_id=VisitId(row.visit_uuid),
            node_id=NodeId(row.node_id),
            node_type=row.node_type,
            node_label=row.node_label,
            iter_seq=row.iter_seq,
            sort_order=row.sort_order,
            from_visit_id=VisitId(row.from_visit_uuid) if row.from_visit_uuid else None,
            from_node_id=NodeId(row.from_node_id) if row.from_node_id else None,
            on_canvas=bool(row.on_canvas),
            status=StepStatus.CANCELLED,
            attempts=row.attempts + 1,
            usage=_usage(row.usage_json),
            started_at=read_time(row.started_at),
            finished_at=now,
        )
        events += [event_data.visit_ended(visit), event_data.visit_recorded(visit, after)]
    return events


def _write_snapshot(conn: sa.Connection, row_id: int, inputs_json: str) -> Workspace:
    """Give the last visit the workspace that it ended with, where it can be read."""
    try:
        inputs = Workspace.of_inputs(read_object(inputs_json, "the run's inputs"))
        visits = read_visits(conn, row_id, inputs)
    except DamagedError:
        return Workspace.of_inputs({})
    after = workspace_after(visits, inputs)
    if visits:
        v = t.workflow_run_visits.c
        last = sa.update(t.workflow_run_visits).where(v.visit_uuid == visits[-1].visit_id)
        conn.execute(last.values(**snapshot_columns(after)))
    return after


def _close_nodes(conn: sa.Connection, row_id: int, now: datetime) -> list[NewEvent]:
    n = t.workflow_run_nodes.c
    still_open = (n.run_id == row_id, n.status.in_(_OPEN_STEP))
    rows = conn.execute(sa.select(t.workflow_run_nodes).where(*still_open).order_by(n.started_at, n.node_id)).all()
    _close(conn, t.workflow_run_nodes, row_id, now, attempts="attempt")
    return [
        event_data.node_ended(
            NodeRecord(
                node_id=NodeId(row.node_id),
                node_type=row.node_type,
                node_label=row.node_label,
                status=StepStatus.CANCELLED,
                attempts=row.attempt + 1,
                usage=_usage(row.usage_json),
                started_at=read_time(row.started_at),
                finished_at=now,
            )
        )
        for row in rows
    ]


def _close(conn: sa.Connection, table: sa.Table, row_id: int, now: datetime, *, attempts: str) -> None:
    """Close what is open. The attempt that was stopped counts, which `attempts` names the column of."""
    closed = {"status": StepStatus.CANCELLED.value, "finished_at": time_on_wire(now), attempts: table.c[attempts] + 1}
    conn.execute(sa.update(table).where(table.c.run_id == row_id, table.c.status.in_(_OPEN_STEP)).values(closed))


def _usage(text: str | None) -> Usage:
    try:
        return read_own_usage(text, "a step")
    except DamagedError:
        return NO_USAGE


def append_events(
    conn: sa.Connection, row_id: int, last_event: int, events: Sequence[NewEvent], created_at: str
) -> None:
    """Number and store events; the run's row is locked by the caller."""
    encoder = Encoder()
    rows = [
        {
            "run_id": row_id,
            "seq": seq,
            "type": event.type.value,
            "data_json": encoder.event(event.data),
            "created_at": created_at,
        }
        for seq, event in enumerate(events, last_event + 1)
    ]
    conn.execute(sa.insert(t.workflow_run_events), rows)
    conn.execute(
        sa.update(t.workflow_runs).where(t.workflow_runs.c.id == row_id).values(last_event=last_event + len(rows))
    )
