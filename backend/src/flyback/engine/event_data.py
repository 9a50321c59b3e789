"""What each durable event says: one function an event, used by both modes and by everyone who changes a run.

An `Envelope` stands in the data as it is; the ledger writes it as on the wire, cut by whole values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from pydantic import JsonValue

from flyback.domain.events import EventType, NewEvent
from flyback.domain.graph import NodeId
from flyback.domain.json_value import dumps
from flyback.domain.pause import SUB_RUN, Pause, Question, Reply, actions_on_wire, question_on_wire
from flyback.domain.run import ErrorInfo, Mode, RunId, RunOutput, RunStatus, RunUsage, StepStatus, VisitId
from flyback.domain.snapshot import cut_values
from flyback.domain.visit import Visit
from flyback.domain.wire import (
    decision_on_wire,
    error_on_wire,
    place_on_wire,
    run_usage_on_wire,
    time_on_wire,
    usage_on_wire,
    visit_on_wire,
)
from flyback.domain.workspace import Workspace, written_by
from flyback.engine.log import Begun, CallBegins, CallRecord, Inside, NodeRecord, RunEnd

CANCELLED = "CANCELLED"
"""The code of a call that was stopped together with its run."""


def run_started(
    *,
    workflow_id: str | None,
    mode: Mode,
    version: int | None,
    inputs: Mapping[str, JsonValue],
    default_model: str,
    parent_run_id: str | None = None,
    forked_from_visit: str | None = None,
) -> NewEvent:
    data: dict[str, object] = {
        "workflowId": workflow_id,
        "mode": mode.value,
        "version": version,
        **_cut_field("inputs", inputs),
        "defaultModel": default_model,
    }
    if parent_run_id is not None:
        data["parentRunId"] = parent_run_id
    if forked_from_visit is not None:
        data["forkedFromVisit"] = forked_from_visit
    return NewEvent(EventType.RUN_STARTED, data)


# A node of a DAG run.


def node_running(node_id: NodeId, *, attempt: int, recovered: bool = False) -> NewEvent:
    return NewEvent(EventType.NODE_STATUS, _status(node_id, StepStatus.RUNNING, attempt, recovered=recovered))


def node_skipped(node_id: NodeId) -> NewEvent:
    return NewEvent(EventType.NODE_STATUS, _status(node_id, StepStatus.SKIPPED, 0))


def node_ended(record: NodeRecord) -> NewEvent:
    """SUCCESS, FAILED or CANCELLED, with its output, usage and times."""
    data = _status(record.node_id, record.status, record.attempts, error=record.error)
    data["output"] = record.envelope
    data["usage"] = usage_on_wire(record.usage)
    data["startedAt"] = time_on_wire(record.started_at) if record.started_at else None
    data["finishedAt"] = time_on_wire(record.finished_at) if record.finished_at else None
    return NewEvent(EventType.NODE_STATUS, data)


# A visit of an AGENTIC run.


def visit_running(visit: Visit, *, recovered: bool = False) -> NewEvent:
    data = _status(visit.node_id, StepStatus.RUNNING, visit.attempts + 1, recovered=recovered)
    data["visitId"] = visit.visit_id
    data.update(place_on_wire(visit))
    return NewEvent(EventType.NODE_STATUS, data)


def visit_ended(visit: Visit) -> NewEvent:
    """The `node_status` with a visit's end; `visit_recorded` follows it."""
    data = _status(visit.node_id, visit.status, visit.attempts, error=visit.error)
    data["visitId"] = visit.visit_id
    return NewEvent(EventType.NODE_STATUS, data)


def visit_recorded(visit: Visit, before: Workspace) -> NewEvent:
    """The visit as on the wire, and which names it added to or overwrote in the workspace before it."""
    data: dict[str, object] = {**visit_on_wire(visit), "changed": changed(visit, before)}
    return NewEvent(EventType.VISIT_RECORDED, data)


def changed(visit: Visit, before: Workspace) -> dict[str, list[str]]:
    added: list[str] = []
    overwritten: list[str] = []
    if visit.envelope is not None:
        for key in written_by(visit.envelope):
            (overwritten if key in before.writers else added).append(key)
    return {"added": added, "overwritten": overwritten}


def planner_decision(visit: Visit) -> NewEvent:
    """The decision that was taken after a visit."""
    assert visit.decision is not None, "a decision is announced when there is one"
    return NewEvent(EventType.PLANNER_DECISION, {"visitId": visit.visit_id, **decision_on_wire(visit.decision)})


# Both modes.


def node_retry(
    node_id: NodeId, *, attempt: int, error: ErrorInfo, wait_ms: int, visit_id: VisitId | None = None
) -> NewEvent:
    """An attempt failed; after `wait_ms` the next one begins."""
    data: dict[str, object] = {"nodeId": node_id}
    if visit_id is not None:
        data["visitId"] = visit_id
    data |= {"attempt": attempt, "error": error_on_wire(error), "waitMs": wait_ms}
    return NewEvent(EventType.NODE_RETRY, data)


def clarify_request(pause: Pause) -> NewEvent:
    data = _pause(pause)
    data["prompt"] = pause.ask.prompt
    data["questions"] = [_question(question) for question in pause.ask.questions]
    data["actions"] = actions_on_wire(pause.ask)
    data["onTimeout"] = pause.ask.on_timeout
    data["expiresAt"] = time_on_wire(pause.expires_at) if pause.expires_at else None
    return NewEvent(EventType.CLARIFY_REQUEST, data)


def _question(question: Question) -> dict[str, JsonValue]:
    wire = question_on_wire(question)
    if question.call is not None:
        wire["arguments"] = _cut(wire["arguments"])
    return wire


def clarify_answered(pause: Pause, reply: Reply, by: str) -> NewEvent:
    data = {**_pause(pause), "answers": reply.on_wire(), "action": reply.action, "by": by}
    return NewEvent(EventType.CLARIFY_ANSWERED, data)


def pause_expired(pause: Pause) -> NewEvent:
    return NewEvent(EventType.PAUSE_EXPIRED, _pause(pause))


def node_paused(node_id: NodeId, *, attempt: int, visit_id: VisitId | None = None) -> NewEvent:
    data = _status(node_id, StepStatus.PAUSED, attempt)
    if visit_id is not None:
        data["visitId"] = visit_id
    return NewEvent(EventType.NODE_STATUS, data)


def asked(pause: Pause) -> Sequence[NewEvent]:
    """What is told of a new pause, before its node is said to be PAUSED. Sub-runs ask for themselves."""
    return [] if pause.ask.kind == SUB_RUN else [clarify_request(pause)]


def run_paused(pauses: Iterable[Pause]) -> NewEvent:
    return NewEvent(EventType.RUN_PAUSED, {"pauseIds": _questions(pauses)})


def run_resumed(pauses: Iterable[Pause]) -> NewEvent:
    return NewEvent(EventType.RUN_RESUMED, {"pauseIds": _questions(pauses)})


def _questions(pauses: Iterable[Pause]) -> list[str]:
    return [pause.pause_id for pause in pauses if pause.ask.kind != SUB_RUN]


def sub_run(inside: Inside, run_id: RunId, status: RunStatus) -> NewEvent:
    """Told to the parent: a run that its node started began, rests, goes on (PENDING) or ended."""
    data: dict[str, object] = {"nodeId": inside.node_id}
    if inside.visit_id is not None:
        data["visitId"] = inside.visit_id
    data |= {"subRunId": run_id, "index": inside.index, "count": inside.count, "status": status.value}
    return NewEvent(EventType.SUB_RUN, data)


def _pause(pause: Pause) -> dict[str, object]:
    data: dict[str, object] = {"pauseId": pause.pause_id, "kind": pause.ask.kind, "nodeId": pause.node_id}
    if pause.visit_id is not None:
        data["visitId"] = pause.visit_id
    return data


def tool_call(call: CallBegins) -> NewEvent:
    """A tool call begins. Its arguments are cut by whole values."""
    data = _call(call.node_id, call.visit_id, call.begun)
    data["arguments"] = _cut(call.arguments)
    if call.recovered:
        data["recovered"] = True
    return NewEvent(EventType.TOOL_CALL, data)


def tool_result(call: CallRecord) -> NewEvent:
    """A tool call has ended: it is on record. What it gave is cut by whole values."""
    data = _call(call.node_id, call.visit_id, Begun(call.call_id, call.name))
    data["result"] = _cut(call.response)
    if call.error is not None:
        data["error"] = error_on_wire(call.error)
    data["durationMs"] = call.latency_ms
    return NewEvent(EventType.TOOL_RESULT, data)


def tool_stopped(node_id: NodeId, visit_id: VisitId | None, begun: Begun, *, duration_ms: int = 0) -> NewEvent:
    """A tool call that was begun and whose end nobody will tell: its run was cancelled, or its work ended without it."""
    data = _call(node_id, visit_id, begun)
    stopped = ErrorInfo(CANCELLED, "the call was stopped", node_id)
    data |= {"result": None, "error": error_on_wire(stopped), "durationMs": duration_ms}
    return NewEvent(EventType.TOOL_RESULT, data)


def _call(node_id: NodeId, visit_id: VisitId | None, begun: Begun) -> dict[str, object]:
    place: dict[str, object] = {"callId": begun.call_id, "nodeId": node_id}
    if visit_id is not None:
        place["visitId"] = visit_id
    return {**place, "name": begun.name}


def _cut_field(name: str, values: Mapping[str, JsonValue]) -> dict[str, object]:
    """Values under a name, cut by whole values and then marked with the size of the whole in bytes."""
    kept, is_cut = cut_values(values)
    marked: dict[str, object] = {f"{name}Truncated": True, f"{name}Size": len(dumps(dict(values)).encode())}
    return {name: kept, **(marked if is_cut else {})}


def _cut(value: JsonValue) -> JsonValue:
    values = value if isinstance(value, dict) else {"value": value}
    kept, _ = cut_values(values)
    return kept if isinstance(value, dict) else kept["value"]


def workflow_complete(outputs: Sequence[RunOutput], usage: RunUsage, *, visit_count: int | None) -> NewEvent:
    results = _cut_field("outputs", {output.node_id: output.result for output in outputs})
    shown = cast("Mapping[str, JsonValue]", results["outputs"])
    return NewEvent(
        EventType.WORKFLOW_COMPLETE,
        {
            "success": True,
            **results,
            "outputs": [output_on_wire(replace(output, result=shown.get(output.node_id))) for output in outputs],
            "usage": run_usage_on_wire(usage),
            "visitCount": visit_count,
            "durationMs": round(usage.driven_seconds * 1000),
        },
    )


def output_on_wire(output: RunOutput) -> dict[str, object]:
    """`{nodeId, result}`, and the names it could not resolve where there are some."""
    data: dict[str, object] = {"nodeId": output.node_id, "result": output.result}
    if output.unresolved:
        data["unresolved"] = list(output.unresolved)
    return data


def workflow_error(end: RunEnd) -> NewEvent:
    assert end.error is not None, "a failed run has its error"
    data: dict[str, object] = {"code": end.error.code, "message": end.error.message}
    if end.error.node is not None:
        data["nodeId"] = end.error.node
    if end.error.fix is not None:
        data["fix"] = end.error.fix
    data["path"] = list(end.path)
    if end.partial is not None:
        data["partial"] = end.partial
    return NewEvent(EventType.WORKFLOW_ERROR, data)


def run_cancelled(by: str) -> NewEvent:
    return NewEvent(EventType.RUN_CANCELLED, {"by": by})


def _status(
    node_id: NodeId, status: StepStatus, attempt: int, *, recovered: bool = False, error: ErrorInfo | None = None
) -> dict[str, object]:
    data: dict[str, object] = {"nodeId": node_id, "status": status.value, "attempt": attempt}
    if recovered:
        data["recovered"] = True
    if error is not None:
        data["error"] = error_on_wire(error)
    return data
