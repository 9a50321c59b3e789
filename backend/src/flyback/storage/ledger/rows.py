"""What one commit writes, as rows: made once, without a database, and rendered by either.

Every commit begins with one conditional update of the run's row (`RunRow`): it is the lock, the fence and the numbering of
the events in one. The columns that it sets depend on the kind of step; the rest are plain rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

from flyback.domain import json_value
from flyback.domain.envelope import Envelope
from flyback.domain.events import EventType
from flyback.domain.json_value import mend_text
from flyback.domain.pause import Pause
from flyback.domain.redaction import Redactor
from flyback.domain.run import ErrorInfo, RunId, RunStatus, StepStatus
from flyback.domain.snapshot import snapshot
from flyback.domain.value import value_type
from flyback.domain.visit import Visit
from flyback.domain.wire import decision_on_wire, error_on_wire, run_usage_on_wire, time_on_wire, usage_on_wire
from flyback.domain.workspace import Workspace
from flyback.engine.event_data import output_on_wire
from flyback.engine.log import CallRecord, Commit, Journal, NodeRecord, RunEnd
from flyback.storage.blobs import Blob, blob_of
from flyback.storage.encode import Encoder, call_json, pause_values, times

Scalar = str | int | float | bool | bytes | None
Row = dict[str, Scalar]
Kind = Literal["begin", "attempt", "journal", "pause", "visit", "decision", "node", "end"]
JOURNAL = "journal"
"""The kind of the row that holds how far a node's work has come: at most one a visit, in DAG mode a node."""

NODE_COLUMNS = (
    "node_id",
    "node_type",
    "node_label",
    "status",
    "attempt",
    "inputs_json",
    "output_json",
    "output_blob",
    "handle",
    "error_msg",
    "error_json",
    "usage_json",
    "started_at",
    "finished_at",
)
CALL_COLUMNS = ("node_id", "visit_uuid", "role", "n", "kind", "call_json", "created_at")
PAUSE_COLUMNS = (
    "id",
    "node_id",
    "visit_uuid",
    "kind",
    "prompt",
    "questions_json",
    "actions_json",
    "state",
    "status",
    "on_timeout",
    "expires_at",
    "created_at",
)
STARTED_COLUMNS = (
    "visit_uuid",
    "node_id",
    "node_type",
    "node_label",
    "iter_seq",
    "from_visit_uuid",
    "from_node_id",
    "on_canvas",
    "status",
    "sort_order",
    "attempts",
    "started_at",
    "created_at",
)


@value_type
class CommitRows:
    run_id: RunId
    epoch: int
    step: int
    run: Row
    """Columns of the run's row that this commit sets, beside `step` and `last_event`."""
    events: Sequence[tuple[str, str]]
    """Type and data, in order."""
    visits: Mapping[str, Row]
    """Visit to the columns it changes."""
    started: tuple[Scalar, ...] | None
    nodes: Sequence[tuple[Scalar, ...]]
    calls: Sequence[tuple[Scalar, ...]]
    pauses: Sequence[tuple[Scalar, ...]]
    cleared: Sequence[tuple[str, str | None]]
    """Node and visit of each journal that is written again, or needed no more."""
    blobs: Sequence[Blob]
    rests_at: int | None
    """Set where the run is to become PAUSED: only if this is the number of its last event."""
    ends: bool
    kind: Kind
    created_at: str


def rows_of(commit: Commit, now: datetime, redactor: Redactor | None = None) -> CommitRows:
    """Turn a commit into rows. What `redactor` knows stands in none of them."""
    redactor = redactor or Redactor()
    encoder = Encoder(redactor)
    blobs: list[Blob] = []
    created_at = time_on_wire(now)
    visits: dict[str, Row] = {}
    if commit.visit is not None:
        visits[commit.visit.visit_id] = _visit_columns(commit.visit, encoder, blobs)
    if commit.decided is not None:
        visits.setdefault(commit.decided.visit_id, {}).update(_decision_columns(commit.decided))
    told = commit.decided or commit.visit
    if commit.workspace is not None and told is not None:
        columns = visits.setdefault(told.visit_id, {})
        columns.update(_variables_columns(commit.workspace))
        if told.writers is not commit.workspace.writers:  # else they stand there since the visit ended
            columns["writers_json"] = _writers_json(commit.workspace.writers)
    rows = CommitRows(
        run_id=commit.run_id,
        epoch=commit.epoch,
        step=commit.step,
        run=_run_columns(commit, created_at),
        events=[(event.type.value, encoder.event(event.data)) for event in commit.events],
        visits=visits,
        started=_started_row(commit.started, created_at) if commit.started is not None else None,
        nodes=[_node_row(node, encoder, blobs) for node in {node.node_id: node for node in commit.nodes}.values()],
        calls=[
            *(call_row(call) for call in commit.calls),
            *(_journal_row(journal, created_at) for journal in commit.journals if journal.state is not None),
        ],
        pauses=[_pause_row(pause) for pause in commit.pauses],
        cleared=[(journal.node_id, journal.visit_id) for journal in commit.journals],
        blobs=blobs,
        rests_at=commit.rests.last_event if commit.rests is not None else None,
        ends=commit.end is not None,
        kind=kind_of(commit),
        created_at=created_at,
    )
    return _redacted(rows, redactor) if redactor.knows_any else rows


def _redacted(rows: CommitRows, redactor: Redactor) -> CommitRows:
    """Events and blobs come redacted from the encoder: a blob is named by its content."""

    def clean(value: Scalar) -> Scalar:
        return redactor.text(value) if isinstance(value, str) else value

    def cleaned(row: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        return tuple(clean(value) for value in row)

    return replace(
        rows,
        run={column: clean(value) for column, value in rows.run.items()},
        visits={
            visit_id: {column: clean(value) for column, value in columns.items()}
            for visit_id, columns in rows.visits.items()
        },
        started=cleaned(rows.started) if rows.started is not None else None,
        nodes=[cleaned(node) for node in rows.nodes],
        calls=[cleaned(call) for call in rows.calls],
        pauses=[cleaned(pause) for pause in rows.pauses],
    )


def kind_of(commit: Commit) -> Kind:
    """Name what a commit stores, for the failpoints around it."""
    if commit.end is not None:
        return "end"
    if commit.decided is not None:
        return "decision"
    if commit.pauses or commit.rests is not None:
        return "pause"
    if commit.journals and all(event.type in _TOLD_OF_WORK for event in commit.events):
        return "journal"
    if commit.visit is not None:
        return "attempt" if commit.visit.status is StepStatus.RUNNING else "visit"
    return "begin" if commit.started is not None else "node"


_TOLD_OF_WORK = frozenset({EventType.TOOL_CALL, EventType.TOOL_RESULT})
"""What is told while a node works."""


def end_columns(end: RunEnd, finished_at: str) -> Row:
    """The columns of the run's row that hold its end."""
    columns: Row = {"status": end.status.value, "finished_at": finished_at}
    columns["outputs_json"] = json_value.dumps([output_on_wire(output) for output in end.outputs])
    if end.error is not None:
        columns["error_code"] = end.error.code
        columns["error_msg"] = mend_text(end.error.message)
        columns["error_json"] = json_value.dumps(
            {**error_on_wire(end.error), "path": list(end.path), "partial": end.partial}
        )
    return columns


def snapshot_columns(workspace: Workspace) -> Row:
    return {**_variables_columns(workspace), "writers_json": _writers_json(workspace.writers)}


def _variables_columns(workspace: Workspace) -> Row:
    made = snapshot(workspace.variables)
    return {"variables_json": made.json, "variables_truncated": made.truncated}


def _writers_json(writers: Mapping[str, int]) -> str:
    return json_value.dumps(dict(writers))


def error_columns(error: ErrorInfo | None) -> Row:
    if error is None:
        return {"error_msg": None, "error_json": None}
    return {"error_msg": mend_text(error.message), "error_json": json_value.dumps(error_on_wire(error))}


def _run_columns(commit: Commit, created_at: str) -> Row:
    columns: Row = {"usage_json": json_value.dumps(run_usage_on_wire(commit.usage))}
    if commit.is_progress:
        columns.update(deaths=0, step_started=True)
    if commit.started is not None:
        columns["visit_count"] = commit.started.sort_order + 1
    if commit.rests is not None:
        columns.update(status=RunStatus.PAUSED.value, worker_id=None)
    if commit.end is not None:
        columns.update(end_columns(commit.end, created_at))
    return columns


def _visit_columns(visit: Visit, encoder: Encoder, blobs: list[Blob]) -> Row:
    started_at, finished_at = times(visit.started_at, visit.finished_at)
    output_json, output_blob = _output(visit.envelope, encoder, blobs)
    columns: Row = {
        "status": visit.status.value,
        "attempts": visit.attempts,
        "output_json": output_json,
        "output_blob": output_blob,
        "writers_json": _writers_json(visit.writers) if visit.writers is not None else None,
        "handle": visit.handle,
        "usage_json": json_value.dumps(usage_on_wire(visit.usage)),
        "started_at": started_at,
        "finished_at": finished_at,
    }
    columns.update(error_columns(visit.error))
    return columns


def _decision_columns(visit: Visit) -> Row:
    decision = json_value.dumps(decision_on_wire(visit.decision)) if visit.decision is not None else None
    return {"decision_json": decision, "usage_json": json_value.dumps(usage_on_wire(visit.usage))}


def _started_row(visit: Visit, created_at: str) -> tuple[Scalar, ...]:
    return (
        visit.visit_id,
        visit.node_id,
        visit.node_type,
        mend_text(visit.node_label),
        visit.iter_seq,
        visit.from_visit_id,
        visit.from_node_id,
        visit.on_canvas,
        visit.status.value,
        visit.sort_order,
        visit.attempts,
        time_on_wire(visit.started_at) if visit.started_at else None,
        created_at,
    )


def _node_row(node: NodeRecord, encoder: Encoder, blobs: list[Blob]) -> tuple[Scalar, ...]:
    started_at, finished_at = times(node.started_at, node.finished_at)
    output_json, output_blob = _output(node.envelope, encoder, blobs)
    error = error_columns(node.error)
    return (
        node.node_id,
        node.node_type,
        mend_text(node.node_label),
        node.status.value,
        node.attempts,
        json_value.dumps(dict(node.inputs)) if node.inputs else None,
        output_json,
        output_blob,
        node.handle,
        error["error_msg"],
        error["error_json"],
        json_value.dumps(usage_on_wire(node.usage)),
        started_at,
        finished_at,
    )


def call_row(call: CallRecord) -> tuple[Scalar, ...]:
    created_at = time_on_wire(call.created_at)
    return (call.node_id, call.visit_id, call.role, call.n, call.kind, call_json(call), created_at)


def _journal_row(journal: Journal, created_at: str) -> tuple[Scalar, ...]:
    return (journal.node_id, journal.visit_id, JOURNAL, 1, JOURNAL, json_value.dumps(journal.state), created_at)


def _pause_row(pause: Pause) -> tuple[Scalar, ...]:
    values = pause_values(pause)
    return tuple(values[column] for column in PAUSE_COLUMNS)


def _output(envelope: Envelope | None, encoder: Encoder, blobs: list[Blob]) -> tuple[str | None, str | None]:
    """The two columns of an output: in the row, or the hash of its blob."""
    if envelope is None:
        return None, None
    encoded = encoder.envelope(envelope)
    if not encoded.needs_blob:
        return encoded.whole.decode(), None
    blob = blob_of(encoded.whole)
    blobs.append(blob)
    return None, blob.hash
