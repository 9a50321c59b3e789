"""The value that a whole row stands for: a pause, a visit, a node record. Raises `DamagedError` like `decode`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from flyback.domain import json_value
from flyback.domain.envelope import Envelope
from flyback.domain.graph import NodeId
from flyback.domain.pause import (
    Action,
    Ask,
    OnTimeout,
    Pause,
    PauseKind,
    PauseStatus,
    Reply,
    read_question,
    read_values,
)
from flyback.domain.run import StepStatus, VisitId
from flyback.domain.visit import Visit
from flyback.engine.log import NodeRecord
from flyback.storage.decode import (
    DamagedError,
    Json,
    Reading,
    read_decision,
    read_envelope,
    read_error,
    read_object,
    read_own_usage,
    read_time,
)


class PauseRow(Protocol):
    """The columns of a pause that its value is made of."""

    id: str
    node_id: str
    visit_uuid: str | None
    kind: str
    prompt: str
    questions_json: str
    actions_json: str
    state: str | None
    answers_json: str | None
    action: str | None
    status: str
    on_timeout: str | None
    expires_at: str | None
    created_at: str
    answered_at: str | None
    answered_by: str | None


def read_pause(row: PauseRow) -> Pause:
    place = f"the question {row.id!r} of node {row.node_id!r}"
    with Reading(place):
        questions = cast("Sequence[Json]", json_value.loads(row.questions_json))
        actions = cast("Sequence[Mapping[str, str]]", json_value.loads(row.actions_json))
        created_at = read_time(row.created_at)
        assert created_at is not None
        values = None if row.answers_json is None else read_values(json_value.loads(row.answers_json))
        return Pause(
            pause_id=row.id,
            node_id=NodeId(row.node_id),
            visit_id=VisitId(row.visit_uuid) if row.visit_uuid else None,
            ask=Ask(
                cast("PauseKind", row.kind),
                [read_question(question) for question in questions],
                prompt=row.prompt,
                actions=[Action(action["id"], action["label"]) for action in actions],
                state=None if row.state is None else json_value.loads(row.state),
                on_timeout=cast("OnTimeout | None", row.on_timeout),
            ),
            created_at=created_at,
            expires_at=read_time(row.expires_at),
            status=PauseStatus(row.status),
            reply=None if values is None else Reply(values, row.action),
            answered_by=row.answered_by,
            answered_at=read_time(row.answered_at),
        )


class VisitRow(Protocol):
    """The columns of a visit that its value is made of."""

    visit_uuid: str
    node_id: str
    node_type: str
    node_label: str
    iter_seq: int
    sort_order: int
    from_visit_uuid: str | None
    from_node_id: str | None
    on_canvas: bool
    status: str
    attempts: int
    output_json: str | None
    output_blob: str | None
    writers_json: str | None
    handle: str | None
    error_json: str | None
    decision_json: str | None
    usage_json: str | None
    edited_json: str | None
    started_at: str | None
    finished_at: str | None


class NodeRow(Protocol):
    node_id: str
    node_type: str
    node_label: str
    status: str
    attempt: int
    inputs_json: str | None
    output_json: str | None
    output_blob: str | None
    handle: str | None
    error_json: str | None
    usage_json: str | None
    started_at: str | None
    finished_at: str | None


def read_visit(row: VisitRow, blobs: Mapping[str, bytes]) -> Visit:
    """Make a visit of its row; `blobs` are the large outputs, by hash. Its writers are None where they are unreadable."""
    place = f"visit {row.sort_order + 1} ({row.node_id!r})"
    with Reading(place):
        decision = read_object(row.decision_json, f"the decision of {place}") if row.decision_json else None
        return Visit(
            visit_id=VisitId(row.visit_uuid),
            node_id=NodeId(row.node_id),
            node_type=row.node_type,
            node_label=row.node_label,
            iter_seq=row.iter_seq,
            sort_order=row.sort_order,
            from_visit_id=VisitId(row.from_visit_uuid) if row.from_visit_uuid else None,
            from_node_id=NodeId(row.from_node_id) if row.from_node_id else None,
            on_canvas=bool(row.on_canvas),
            status=StepStatus(row.status),
            attempts=row.attempts,
            envelope=_read_output(row, blobs, place),
            writers=_read_writers(row.writers_json),
            handle=row.handle,
            error=read_error(read_object(row.error_json, f"the error of {place}")) if row.error_json else None,
            decision=read_decision(decision) if decision is not None else None,
            usage=read_own_usage(row.usage_json, place),
            edits=read_object(row.edited_json, f"the edits after {place}") if row.edited_json else None,
            started_at=read_time(row.started_at),
            finished_at=read_time(row.finished_at),
        )


def read_node(row: NodeRow, blobs: Mapping[str, bytes]) -> NodeRecord:
    place = f"node {row.node_id!r}"
    with Reading(place):
        return NodeRecord(
            node_id=NodeId(row.node_id),
            node_type=row.node_type,
            node_label=row.node_label,
            status=StepStatus(row.status),
            attempts=row.attempt,
            inputs=read_object(row.inputs_json, f"the inputs of {place}") if row.inputs_json else {},
            envelope=_read_output(row, blobs, place),
            handle=row.handle,
            error=read_error(read_object(row.error_json, f"the error of {place}")) if row.error_json else None,
            usage=read_own_usage(row.usage_json, place),
            started_at=read_time(row.started_at),
            finished_at=read_time(row.finished_at),
        )


def _read_output(row: VisitRow | NodeRow, blobs: Mapping[str, bytes], place: str) -> Envelope | None:
    if row.output_blob is not None:
        return read_envelope(read_object(blobs.get(row.output_blob), f"the output of {place}"))
    if row.output_json is None:
        return None
    return read_envelope(read_object(row.output_json, f"the output of {place}"))


def _read_writers(text: str | None) -> Mapping[str, int] | None:
    if text is None:
        return None
    try:
        writers = read_object(text, "writers")
    except DamagedError:
        return None
    return cast("Mapping[str, int]", writers) if all(isinstance(place, int) for place in writers.values()) else None
