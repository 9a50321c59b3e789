"""Reads a run back from its rows, for the driver that goes on with it.

Nothing is replayed: visits, nodes and counts are what the rows say. A map of writers that cannot be read is made again
from the envelopes; what cannot be made again is `DamagedError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import cast

import sqlalchemy as sa

from flyback.domain import json_value
from flyback.domain.errors import BadJsonError
from flyback.domain.events import EventType
from flyback.domain.graph import Graph, NodeId
from flyback.domain.graph_file import read_graph
from flyback.domain.pause import Pause
from flyback.domain.run import NO_USAGE, Mode, RunId, RunStatus, RunUsage, StepStatus, Usage, VisitId, WorkflowId
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace
from flyback.engine.log import CallCount, CallRole, Journal, NodeRecord, RunState
from flyback.storage import tables as t
from flyback.storage.blobs import contents
from flyback.storage.decode import DamagedError, read_object, read_options, read_run_usage
from flyback.storage.ledger.rows import JOURNAL
from flyback.storage.ledger.waits import as_they_are
from flyback.storage.row_values import NodeRow, PauseRow, VisitRow, read_node, read_pause, read_visit

_RUN = sa.select(t.workflow_runs).where(t.workflow_runs.c.run_uuid == sa.bindparam("wanted"))


def read_state(conn: sa.Connection, run_id: RunId, epoch: int) -> RunState | None:
    """Read a run for the driver of this epoch; None where it is not the driver's any more. Raises DamagedError."""
    run = conn.execute(_RUN, {"wanted": run_id}).one_or_none()
    if run is None or run.epoch != epoch or run.status != RunStatus.RUNNING:
        return None
    inputs = read_object(run.inputs_json, "the run's inputs")
    has_rows = run.step > 0 or run.forked_from_visit is not None  # of a run that is new there is nothing else to read
    visits = read_visits(conn, run.id, Workspace.of_inputs(inputs)) if has_rows and run.mode == Mode.AGENTIC else ()
    nodes = read_nodes(conn, run.id) if has_rows and run.mode == Mode.DAG else dict[NodeId, NodeRecord]()
    counts = _call_counts(conn, run.id) if has_rows else []
    waits = any(step.status is StepStatus.PAUSED for step in (*visits, *nodes.values()))
    return RunState(
        run_id=run_id,
        owner_id=run.owner_id,
        workflow_id=WorkflowId(run.workflow_id) if run.workflow_id else None,
        mode=Mode(run.mode),
        graph=read_graph_of(run.graph_data),
        inputs=inputs,
        options=read_options(run.options_json),
        epoch=run.epoch,
        step=run.step,
        usage=_usage(conn, run_id, run.usage_json) if has_rows else RunUsage(),
        visits=visits,
        nodes=nodes,
        call_counts=[
            CallCount(NodeId(node_id), _visit_id(visit), cast("CallRole", role), count)
            for node_id, visit, role, count in counts
            if role != JOURNAL
        ],
        pauses=read_pauses(conn, run.id, visits, nodes) if waits else (),
        journals=_journals(conn, run.id) if any(role == JOURNAL for _, _, role, _ in counts) else (),
        told_paused=waits and _was_told_paused(conn, run.id),
        fresh=not visits and not nodes,
        last_event=run.last_event,
    )


def read_visits(conn: sa.Connection, row_id: int, inputs: Workspace) -> tuple[Visit, ...]:
    """Read a run's visits in order, with their outputs whole. Raises DamagedError."""
    c = t.workflow_run_visits.c
    columns = [c[name] for name in VisitRow.__annotations__]
    found = conn.execute(sa.select(*columns).where(c.run_id == row_id).order_by(c.sort_order)).all()
    rows = cast("Sequence[VisitRow]", found)
    blobs = contents(conn, {row.output_blob for row in rows if row.output_blob is not None})
    return _with_writers([read_visit(row, blobs) for row in rows], inputs)


def read_nodes(conn: sa.Connection, row_id: int) -> Mapping[NodeId, NodeRecord]:
    c = t.workflow_run_nodes.c
    columns = [c[name] for name in NodeRow.__annotations__]
    rows = cast("Sequence[NodeRow]", conn.execute(sa.select(*columns).where(c.run_id == row_id)).all())
    blobs = contents(conn, {row.output_blob for row in rows if row.output_blob is not None})
    return {NodeId(row.node_id): read_node(row, blobs) for row in rows}


def workspace_after(visits: Sequence[Visit], inputs: Workspace) -> Workspace:
    """Fold the envelopes of visits in order over the run's inputs."""
    workspace = inputs
    for visit in visits:
        if visit.envelope is not None:
            workspace = workspace.after(visit.envelope, writer=visit.sort_order)
        workspace = workspace.edited(visit.edits)
    return workspace


def _with_writers(visits: Sequence[Visit], inputs: Workspace) -> tuple[Visit, ...]:
    if all(visit.writers is not None or visit.finished_at is None for visit in visits):
        return tuple(visits)
    whole: list[Visit] = []
    for place, visit in enumerate(visits):
        mended = visit.writers is None and visit.finished_at is not None
        writers = workspace_after(visits[: place + 1], inputs).writers if mended else visit.writers
        whole.append(replace(visit, writers=writers))
    return tuple(whole)


def read_graph_of(text: str) -> Graph:
    """Read the graph of a run. Raises DamagedError."""
    try:
        document = json_value.loads(text)
    except BadJsonError as error:
        raise DamagedError("the run's graph is not JSON") from error
    graph, _ = read_graph(document)
    if not graph.nodes:
        raise DamagedError("the run's graph has no nodes")
    return graph


def read_pauses(
    conn: sa.Connection, row_id: int, visits: Sequence[Visit], nodes: Mapping[NodeId, NodeRecord]
) -> tuple[Pause, ...]:
    """Return the last pause of each visit or node that is PAUSED."""
    waiting: set[str] = {visit.visit_id for visit in visits if visit.status is StepStatus.PAUSED}
    waiting |= {node_id for node_id, record in nodes.items() if record.status is StepStatus.PAUSED}
    p = t.workflow_pauses.c
    query = sa.select(*(p[name] for name in PauseRow.__annotations__)).where(p.run_id == row_id)
    rows = cast("Sequence[PauseRow]", conn.execute(query.order_by(p.created_at)).all())
    last = {row.visit_uuid or row.node_id: row for row in rows}
    return tuple(as_they_are(conn, [read_pause(row) for place, row in last.items() if place in waiting]))


def _usage(conn: sa.Connection, run_id: RunId, stored: str | None) -> RunUsage:
    """What a run used. What those inside it used stands in their own rows, up to their last steps."""
    usage = read_run_usage(stored)
    r = t.workflow_runs.c
    inner = sa.select(r.usage_json).where(r.parent_run_id == run_id, r.root_run_id.is_not(None))
    inside = reduce(Usage.plus, (read_run_usage(text).total for text in conn.execute(inner).scalars()), NO_USAGE)
    return replace(usage, total=usage.total.minus(usage.sub_runs).plus(inside), sub_runs=inside)


def _journals(conn: sa.Connection, row_id: int) -> tuple[Journal, ...]:
    s = t.workflow_visit_steps.c
    rows = conn.execute(sa.select(s.node_id, s.visit_uuid, s.call_json).where(s.run_id == row_id, s.kind == JOURNAL))
    return tuple(
        Journal(
            NodeId(row.node_id), _visit_id(row.visit_uuid), read_object(row.call_json, f"the work of {row.node_id!r}")
        )
        for row in rows
    )


def _was_told_paused(conn: sa.Connection, row_id: int) -> bool:
    e = t.workflow_run_events.c
    kinds = (EventType.RUN_PAUSED.value, EventType.RUN_RESUMED.value)
    query = sa.select(e.type).where(e.run_id == row_id, e.type.in_(kinds)).order_by(e.seq.desc()).limit(1)
    return conn.execute(query).scalar_one_or_none() == EventType.RUN_PAUSED.value


def _call_counts(conn: sa.Connection, row_id: int) -> list[tuple[str, str | None, str, int]]:
    c = t.workflow_visit_steps.c
    place = (c.node_id, c.visit_uuid, c.role)
    counted = sa.select(*place, sa.func.count()).where(c.run_id == row_id).group_by(*place)
    return [(node_id, visit_id, role, count) for node_id, visit_id, role, count in conn.execute(counted)]


def _visit_id(text: str | None) -> VisitId | None:
    return VisitId(text) if text else None
