"""Acceptance: the run as PENDING and its first event, in the transaction of whoever accepts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain import json_value
from flyback.domain.graph import Graph
from flyback.domain.json_value import mend_text
from flyback.domain.redaction import Redactor
from flyback.domain.run import Mode, RunId, RunStatus, VisitId, WorkflowId
from flyback.domain.wire import time_on_wire
from flyback.engine.event_data import run_started
from flyback.engine.log import Inside, RunOptions
from flyback.storage import tables as t
from flyback.storage.encode import Encoder, options_json
from flyback.storage.ledger.sharing import Fork, share

_INSERT_RUN = sa.insert(t.workflow_runs).returning(t.workflow_runs.c.id)
_INSERT_EVENT = sa.insert(t.workflow_run_events)


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run that was checked and may begin."""

    run_id: RunId
    owner_id: str
    mode: Mode
    graph: Graph
    inputs: Mapping[str, JsonValue]
    options: RunOptions
    workflow_id: WorkflowId | None = None
    workflow_name: str = ""
    version: int | None = None
    warnings: Sequence[JsonValue] = ()
    """Warnings as on the wire."""
    parent_run_id: RunId | None = None
    fork: Fork | None = None
    inside: Inside | None = None
    """Set for a sub-run."""


def accept(conn: sa.Connection, run: NewRun, *, worker_id: str, now: datetime, redactor: Redactor) -> int:
    """Store the run and `run_started`, of a fork also what it shares; return the row's id.

    `worker_id` is who means to start it. What `redactor` knows is no input: it stands in no row, so that the run is given
    the same whether it goes on here or where it is read from its rows.
    """
    run = _redacted(run, redactor)
    created_at = time_on_wire(now)
    row_id: int = conn.execute(_INSERT_RUN, _row(run, worker_id, created_at)).scalar_one()
    conn.execute(_INSERT_EVENT, _first_event(run, row_id, created_at))
    if run.fork is not None:
        share(conn, row_id, run.fork, created_at=created_at)
    return row_id


def _row(run: NewRun, worker_id: str, created_at: str) -> dict[str, object]:
    inside = run.inside
    return {
        "run_uuid": run.run_id,
        "owner_id": run.owner_id,
        "workflow_id": run.workflow_id,
        "workflow_name": mend_text(run.workflow_name),
        "version": run.version,
        "mode": run.mode.value,
        "status": RunStatus.PENDING.value,
        "graph_data": json_value.dumps(run.graph.document),
        "inputs_json": json_value.dumps(dict(run.inputs)),
        "options_json": options_json(run.options),
        "warnings_json": json_value.dumps(list(run.warnings)) if run.warnings else None,
        "visit_count": 0 if run.mode is Mode.AGENTIC else None,
        "parent_run_id": _parent(run),
        "root_run_id": inside.root_run_id if inside else None,
        "parent_node_id": inside.node_id if inside else None,
        "parent_visit_uuid": inside.visit_id if inside else None,
        "item_index": inside.index if inside else None,
        "item_count": inside.count if inside else None,
        "forked_from_visit": _forked_from(run),
        "worker_id": worker_id,
        "last_event": 1,
        "created_at": created_at,
    }


def _first_event(run: NewRun, row_id: int, created_at: str) -> dict[str, object]:
    begun = run_started(
        workflow_id=run.workflow_id,
        mode=run.mode,
        version=run.version,
        inputs=run.inputs,
        default_model=run.options.default_model,
        parent_run_id=_parent(run),
        forked_from_visit=_forked_from(run),
    )
    data = Encoder().event(begun.data)
    return {"run_id": row_id, "seq": 1, "type": begun.type.value, "data_json": data, "created_at": created_at}


def _parent(run: NewRun) -> RunId | None:
    return run.parent_run_id if run.inside is None else run.inside.parent_run_id


def _forked_from(run: NewRun) -> VisitId | None:
    return None if run.fork is None else run.fork.visit_id


def _redacted(run: NewRun, redactor: Redactor) -> NewRun:
    fork = None if run.fork is None else replace(run.fork, edits=redactor.values(run.fork.edits))
    forced = run.options.forced
    options = replace(
        run.options,
        queued_inputs={
            node_id: [redactor.values(entry) for entry in entries]
            for node_id, entries in run.options.queued_inputs.items()
        },
        forced=None if forced is None else replace(forced, reason=redactor.text(forced.reason)),
    )
    warnings = [redactor.value(warning) for warning in run.warnings]
    return replace(run, inputs=redactor.values(run.inputs), options=options, warnings=warnings, fork=fork)
