"""Runs inside runs, in the rows: what happens to one is told to those around it, in the same transaction.

Rows are always locked from the outside in. A run that is PAUSED because of one inside it goes on when that one can, all
the way out; only the outermost run has segments, for only that one is ever started by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

import sqlalchemy as sa

from flyback.domain.events import NewEvent
from flyback.domain.graph import NodeId
from flyback.domain.run import RunId, RunStatus, VisitId
from flyback.domain.wire import time_on_wire
from flyback.engine import event_data
from flyback.engine.log import CLOSED_BY, FencedError, Inside, RunEnd
from flyback.storage import tables as t
from flyback.storage.ledger.ending import OPEN_RUN, append_events, end_run


@dataclass(frozen=True, slots=True)
class Standing:
    """A run that is locked, as it stands."""

    key: int
    run_id: RunId
    status: RunStatus
    segment: int
    last_event: int
    inside: Inside | None


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of something that lets a run go on."""

    run_id: RunId
    """The outermost run."""
    status: RunStatus
    """Its status by then."""
    segment: int | None
    """Its new segment, which is to be started; None where it needs none."""
    concerned: Sequence[RunId] = ()
    """The runs that changed, from the outside in."""


def lock_line(conn: sa.Connection, run_id: RunId) -> list[Standing]:
    """Lock a run and every run that it is inside of; return them from the outside in. Empty where there is no such run."""
    r = t.workflow_runs.c
    line = [run_id]
    while True:
        above = conn.execute(sa.select(r.parent_run_id, r.root_run_id).where(r.run_uuid == line[0])).one_or_none()
        if above is None:
            return []
        if above.root_run_id is None:
            return [_lock(conn, one) for one in line]
        line.insert(0, RunId(above.parent_run_id))


def lock_driver(conn: sa.Connection, run_id: RunId, epoch: int) -> Standing:
    """Lock a run that is driven at this epoch. Raises FencedError."""
    r = t.workflow_runs.c
    driven = conn.execute(sa.select(r.epoch).where(r.run_uuid == run_id).with_for_update()).scalar_one_or_none()
    standing = _lock(conn, run_id) if driven == epoch else None
    if standing is None or standing.status is not RunStatus.RUNNING:
        raise FencedError
    return standing


def tell(conn: sa.Connection, outer: Standing, inner: RunId, inside: Inside, status: RunStatus, now: datetime) -> None:
    """Tell a run what became of one inside it. Once for each time that it was locked."""
    event = event_data.sub_run(inside, inner, status)
    append_events(conn, outer.key, outer.last_event, [event], time_on_wire(now))


def let_go_on(
    conn: sa.Connection, line: Sequence[Standing], status: RunStatus, now: datetime, worker_id: str
) -> Settled:
    """The innermost run of a line has a new status: tell those around it, and let them go on where they rested for it."""
    concerned = [line[-1].run_id]
    outermost = line[0].status
    segment: int | None = None
    for outer, inner in zip(reversed(line[:-1]), reversed(line[1:]), strict=True):
        assert inner.inside is not None, "a run inside another has its place there"
        tell(conn, outer, inner.run_id, inner.inside, status, now)
        concerned.insert(0, outer.run_id)
        if outer.status is not RunStatus.PAUSED:
            break
        status = RunStatus.PENDING
        again = go_on(conn, outer, worker_id)
        if outer is line[0]:
            outermost, segment = status, again
    return Settled(line[0].run_id, outermost, segment, concerned)


def go_on(conn: sa.Connection, run: Standing, worker_id: str) -> int | None:
    """A run that is PAUSED can go on. Return its new segment, which an outermost run is started with."""
    r = t.workflow_runs.c
    values: dict[str, str | int] = {"status": RunStatus.PENDING.value}
    if run.inside is None:
        values |= {"segment": run.segment + 1, "worker_id": worker_id}
    conn.execute(sa.update(t.workflow_runs).where(r.id == run.key).values(values))
    return None if run.inside is not None else run.segment + 1


def end_and_tell(
    conn: sa.Connection,
    run_id: RunId,
    end: RunEnd,
    terminal: NewEvent,
    now: datetime,
    worker_id: str,
    *,
    epoch: int | None = None,
) -> Settled | None:
    """End a run that nobody else ends, and let those around it go on; None where there was nothing to end."""
    line = lock_line(conn, run_id)
    if not line or not end_run(conn, run_id, end, terminal, now, epoch=epoch):
        return None
    return let_go_on(conn, line, end.status, now, worker_id)


def close_place(conn: sa.Connection, outer: Standing, node_id: NodeId, visit_id: VisitId | None, now: datetime) -> None:
    """Cancel what a node of a locked run started and that has no end."""
    r = t.workflow_runs.c
    query = sa.select(r.run_uuid).where(*of_place(outer.run_id, node_id, visit_id), r.status.in_(OPEN_RUN))
    for run_id in conn.execute(query.order_by(r.item_index)).scalars().all():
        end_run(conn, RunId(run_id), RunEnd(RunStatus.CANCELLED), event_data.run_cancelled(CLOSED_BY), now)
        inner = _lock(conn, RunId(run_id))
        assert inner.inside is not None, "a run of a node has its place there"
        tell(conn, _lock(conn, outer.run_id), inner.run_id, inner.inside, inner.status, now)


def of_place(run_id: RunId, node_id: NodeId, visit_id: VisitId | None) -> tuple[sa.ColumnElement[bool], ...]:
    """What the runs have in common that a node started at a visit."""
    r = t.workflow_runs.c
    visit = r.parent_visit_uuid.is_(None) if visit_id is None else r.parent_visit_uuid == visit_id
    return r.parent_run_id == run_id, r.root_run_id.is_not(None), r.parent_node_id == node_id, visit


def _lock(conn: sa.Connection, run_id: RunId) -> Standing:
    r = t.workflow_runs.c
    columns = (
        r.id,
        r.status,
        r.segment,
        r.last_event,
        r.epoch,
        r.root_run_id,
        r.parent_run_id,
        r.parent_node_id,
        r.parent_visit_uuid,
        r.item_index,
        r.item_count,
    )
    row = conn.execute(sa.select(*columns).where(r.run_uuid == run_id).with_for_update()).one()
    inside = None
    if row.root_run_id is not None:
        inside = Inside(
            RunId(row.root_run_id),
            RunId(row.parent_run_id),
            -1,  # nobody drives it with this
            NodeId(row.parent_node_id),
            VisitId(cast("str", row.parent_visit_uuid)) if row.parent_visit_uuid else None,
            row.item_index,
            row.item_count,
        )
    return Standing(row.id, run_id, RunStatus(row.status), row.segment, row.last_event, inside)
