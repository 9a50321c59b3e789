"""Tool calls that were being made when their run was cancelled: told as stopped, and put on record by whoever made them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from flyback.domain.errors import StateCorruptError
from flyback.domain.events import NewEvent
from flyback.domain.graph import NodeId
from flyback.domain.run import RunId, RunStatus, VisitId
from flyback.engine import event_data
from flyback.engine.log import CallRecord, Journal, call_id_of
from flyback.engine.resuming import Resumed
from flyback.storage import tables as t
from flyback.storage.decode import DamagedError, read_object
from flyback.storage.ledger.rows import CALL_COLUMNS, JOURNAL, call_row


def close_calls(conn: sa.Connection, row_id: int, now: datetime) -> list[NewEvent]:
    """Return the end of every call that was begun and is not on record. The run's row is locked by the caller."""
    s = t.workflow_visit_steps.c
    journals = conn.execute(sa.select(t.workflow_visit_steps).where(s.run_id == row_id, s.kind == JOURNAL)).all()
    if not journals:
        return []
    known = {
        call_id_of(NodeId(row.node_id), VisitId(row.visit_uuid) if row.visit_uuid else None, "tool", row.n)
        for row in conn.execute(sa.select(s.node_id, s.visit_uuid, s.n).where(s.run_id == row_id, s.kind == "tool"))
    }
    events: list[NewEvent] = []
    for row in journals:
        visit_id = VisitId(row.visit_uuid) if row.visit_uuid else None
        try:
            kept = Resumed.read(Journal(NodeId(row.node_id), visit_id, read_object(row.call_json, "a journal")))
        except (DamagedError, StateCorruptError):
            continue
        if kept.begun is not None and kept.begun.call_id not in known:
            since = now - datetime.fromisoformat(row.created_at)
            stopped = event_data.tool_stopped(
                NodeId(row.node_id), visit_id, kept.begun, duration_ms=max(0, round(since.total_seconds() * 1000))
            )
            events.append(stopped)
    return events


def leave_calls(conn: sa.Connection, run_id: RunId, epoch: int, calls: Sequence[CallRecord]) -> None:
    """Put calls on record that a cancel stopped, where it was the cancel that took the run from this driver."""
    r = t.workflow_runs.c
    cancelled = (r.run_uuid == run_id, r.epoch == epoch + 1, r.status == RunStatus.CANCELLED.value)
    row_id = conn.execute(sa.select(r.id).where(*cancelled).with_for_update()).scalar_one_or_none()
    if row_id is None:
        return
    rows = [{"run_id": row_id, **dict(zip(CALL_COLUMNS, call_row(call), strict=True))} for call in calls]
    conn.execute(sa.insert(t.workflow_visit_steps), rows)
