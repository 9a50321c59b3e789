"""How the domain's values stand in rows, and how rows become values again.

JSON columns hold the wire's form. What is read here was written here, so a row that does not fit its form is damaged:
reading raises `DamagedError`, and the caller says which run and where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, cast

import orjson
from pydantic import JsonValue

from flyback.domain import json_value
from flyback.domain.decision import Decision, DecisionMethod, DecisionSource, Rejected
from flyback.domain.envelope import Envelope
from flyback.domain.errors import BadJsonError
from flyback.domain.graph import NodeId
from flyback.domain.json_value import mend_text
from flyback.domain.pause import (
    Action,
    Ask,
    OnTimeout,
    Pause,
    PauseKind,
    PauseStatus,
    Reply,
    actions_on_wire,
    question_on_wire,
    read_question,
    read_values,
)
from flyback.domain.redaction import Redactor
from flyback.domain.run import NO_USAGE, Budget, ErrorInfo, RunUsage, StepStatus, Usage, VisitId, WorkflowId
from flyback.domain.snapshot import cut_values
from flyback.domain.visit import Visit
from flyback.domain.wire import error_on_wire, time_on_wire, usage_on_wire
from flyback.engine.log import CallRecord, CallRole, Forced, NodeRecord, RunOptions
from flyback.storage.blobs import ROW_LIMIT_BYTES

EVENT_OUTPUT_BYTES = 64 * 1024
_BESIDE_BYTES = 8 * 1024
"""What `meta` and `signals` may take of it, each."""
_REST_BYTES = 1024
"""For ids and braces."""
CALL_BYTES = 256 * 1024
"""What is kept of each, request and response, of one call."""

Json = Mapping[str, JsonValue]


class DamagedError(Exception):
    """What is stored cannot be read."""


# Writing.


@dataclass(frozen=True, slots=True)
class EncodedEnvelope:
    """An envelope as JSON, made once for its row and its events."""

    whole: bytes
    in_event: bytes
    """Cut by whole values where the whole is too large for an event."""

    @property
    def is_cut(self) -> bool:
        return self.whole is not self.in_event

    @property
    def needs_blob(self) -> bool:
        return len(self.whole) > ROW_LIMIT_BYTES


class Encoder:
    """Encodes what belongs to one commit, each envelope once."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self._envelopes: dict[int, tuple[Envelope, EncodedEnvelope]] = {}

    def envelope(self, envelope: Envelope) -> EncodedEnvelope:
        known = self._envelopes.get(id(envelope))
        if known is not None:
            return known[1]
        encoded = _encoded(envelope, self._redactor)
        self._envelopes[id(envelope)] = (envelope, encoded)  # held, so that its id stays its own
        return encoded

    def event(self, data: Mapping[str, object]) -> str:
        """Return an event's data as JSON, on one line; what was cut is marked, with its size in bytes."""
        plain: dict[str, object] = dict(data)
        for name, value in data.items():
            if isinstance(value, Envelope):
                encoded = self.envelope(value)
                plain[name] = orjson.Fragment(encoded.in_event)
                if encoded.is_cut:
                    plain[f"{name}Truncated"] = True
                    plain[f"{name}Size"] = len(encoded.whole)
        try:
            return self._redactor.text(orjson.dumps(plain).decode())
        except TypeError:  # what orjson cannot carry exactly
            exact = {
                name: json_value.loads(self.envelope(value).in_event) if isinstance(value, Envelope) else plain[name]
                for name, value in {**plain, **data}.items()
            }
            return self._dumps(cast("JsonValue", exact))

    def _dumps(self, value: JsonValue) -> str:
        return self._redactor.text(json_value.dumps(value))


def _encoded(envelope: Envelope, redactor: Redactor) -> EncodedEnvelope:
    whole = redactor.text(json_value.dumps(envelope.on_wire())).encode()
    if len(whole) <= EVENT_OUTPUT_BYTES:
        return EncodedEnvelope(whole, whole)
    cut = replace(
        envelope,
        data=cut_values(envelope.data, EVENT_OUTPUT_BYTES - 2 * _BESIDE_BYTES - _REST_BYTES)[0],
        meta=cut_values(envelope.meta, _BESIDE_BYTES)[0],
        signals=cut_values(envelope.signals, _BESIDE_BYTES)[0],
    )
    return EncodedEnvelope(whole, redactor.text(json_value.dumps(cut.on_wire())).encode())


def call_json(call: CallRecord) -> str:
    """One call as it can be looked at later: its row's JSON, and its form on the wire."""
    wire: dict[str, JsonValue] = {
        "name": call.name,
        "model": call.model,
        "request": call.request,
        "response": call.response,
        "attempt": call.attempt,
        "usage": cast("JsonValue", usage_on_wire(call.usage)),
        "latencyMs": call.latency_ms,
        "finishReason": call.finish_reason,
        "error": cast("JsonValue", error_on_wire(call.error)) if call.error else None,
    }
    if call.recovered:
        wire["recovered"] = True
    whole = json_value.dumps(wire)
    if len(whole) <= CALL_BYTES // 4:  # at most four bytes a character, so neither part can be too large
        return whole
    wire["request"], wire["response"] = _cut(call.request), _cut(call.response)
    return json_value.dumps(wire)


def _cut(value: JsonValue) -> JsonValue:
    whole = json_value.dumps(value).encode()
    if len(whole) <= CALL_BYTES:
        return value
    head = whole[: CALL_BYTES - 1024].decode(errors="ignore")
    return {"__truncated__": True, "size": len(whole), "head": head}


def options_json(options: RunOptions) -> str:
    return json_value.dumps(
        {
            "defaultModel": options.default_model,
            "plannerModel": options.planner_model,
            "maxVisits": options.max_visits,
            "budget": {
                "tokens": options.budget.tokens,
                "seconds": options.budget.seconds,
                "cost": options.budget.cost,
            },
            "queuedInputs": {
                node_id: [dict(entry) for entry in entries] for node_id, entries in options.queued_inputs.items()
            },
            "script": options.script,
            "parallelNodes": options.parallel_nodes,
            "forced": None
            if options.forced is None
            else {"after": options.forced.after, "next": options.forced.next, "reason": options.forced.reason},
            "above": list(options.above),
        }
    )


def pause_values(pause: Pause) -> dict[str, str | None]:
    """The columns of a pause that is asked."""
    ask = pause.ask
    return {
        "id": pause.pause_id,
        "node_id": pause.node_id,
        "visit_uuid": pause.visit_id,
        "kind": ask.kind,
        "prompt": mend_text(ask.prompt),
        "questions_json": json_value.dumps([question_on_wire(question) for question in ask.questions]),
        "actions_json": json_value.dumps(actions_on_wire(ask)),
        "state": None if ask.state is None else json_value.dumps(ask.state),
        "status": pause.status.value,
        "on_timeout": ask.on_timeout,
        "expires_at": time_on_wire(pause.expires_at) if pause.expires_at else None,
        "created_at": time_on_wire(pause.created_at),
    }


# Reading.


def read_object(text: str | bytes | None, what: str) -> dict[str, JsonValue]:
    """Read a JSON object that must be there. `what` names it in the error."""
    if text is None:
        raise DamagedError(f"{what} is missing")
    try:
        value = json_value.loads(text)
    except BadJsonError as error:
        raise DamagedError(f"{what} is not JSON") from error
    if not isinstance(value, dict):
        raise DamagedError(f"{what} is no JSON object")
    return value


def read_time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError as error:
        raise DamagedError(f"the time {text!r} cannot be read") from error


def read_usage(wire: Json) -> Usage:
    return Usage(
        input_tokens=cast("int", wire["inputTokens"]),
        output_tokens=cast("int", wire["outputTokens"]),
        calls=cast("int", wire["calls"]),
        cost=cast("float | None", wire.get("cost")),
        currency=cast("str | None", wire.get("currency")),
        estimated=wire.get("estimated") is True,
    )


def read_run_usage(text: str | None) -> RunUsage:
    if text is None:
        return RunUsage()
    with _reading("usage"):
        wire = read_object(text, "usage")
        return RunUsage(
            total=read_usage(wire),
            planner=read_usage(cast("Json", wire["planner"])),
            driven_seconds=cast("float", wire.get("drivenSeconds", 0.0)),
            sub_runs=read_usage(cast("Json", wire["subRuns"])) if "subRuns" in wire else NO_USAGE,
        )


def read_error(wire: Json) -> ErrorInfo:
    return ErrorInfo(
        code=cast("str", wire["code"]),
        message=cast("str", wire["message"]),
        node=cast("str | None", wire.get("node")),
        field=cast("str | None", wire.get("field")),
        fix=cast("str | None", wire.get("fix")),
    )


def read_envelope(wire: Json) -> Envelope:
    return Envelope(
        node_id=NodeId(cast("str", wire["nodeId"])),
        node_type=cast("str", wire["nodeType"]),
        data=cast("Json", wire["data"]),
        meta=cast("Json", wire["meta"]),
        signals=cast("Json", wire.get("signals", {})),
    )


def read_decision(wire: Json) -> Decision:
    rejected = cast("Sequence[Mapping[str, str]]", wire.get("rejected", ()))
    return Decision(
        next=NodeId(cast("str", wire["next"])),
        reason=cast("str", wire["reason"]),
        source=cast("DecisionSource", wire["source"]),
        on_canvas=cast("bool", wire["onCanvas"]),
        cause=cast("str | None", wire.get("cause")),
        model=cast("str | None", wire.get("model")),
        method=cast("DecisionMethod | None", wire.get("method")),
        scores=cast("Mapping[str, float] | None", wire.get("scores")),
        margin=cast("float | None", wire.get("margin")),
        left_out=tuple(cast("Sequence[str]", wire.get("leftOut", ()))),
        usage=read_usage(cast("Json", wire["usage"])),
        latency_ms=cast("int", wire["latencyMs"]),
        attempts=cast("int", wire["attempts"]),
        rejected=tuple(Rejected(answer=one["answer"], why=one["why"]) for one in rejected),
    )


def read_options(text: str) -> RunOptions:
    with _reading("options"):
        wire = read_object(text, "options")
        budget = cast("Mapping[str, float | None]", wire["budget"])
        queued = cast("Mapping[str, Sequence[Json]]", wire["queuedInputs"])
        tokens = budget.get("tokens")
        return RunOptions(
            default_model=cast("str", wire["defaultModel"]),
            planner_model=cast("str | None", wire.get("plannerModel")),
            max_visits=cast("int", wire["maxVisits"]),
            budget=Budget(
                tokens=None if tokens is None else int(tokens), seconds=budget.get("seconds"), cost=budget.get("cost")
            ),
            queued_inputs={NodeId(node_id): list(entries) for node_id, entries in queued.items()},
            script=wire.get("script"),
            parallel_nodes=cast("int", wire["parallelNodes"]),
            forced=_read_forced(cast("Json | None", wire.get("forced"))),
            above=tuple(cast("Sequence[WorkflowId | None]", wire.get("above", ()))),
        )


def _read_forced(wire: Json | None) -> Forced | None:
    if wire is None:
        return None
    return Forced(cast("int", wire["after"]), NodeId(cast("str", wire["next"])), cast("str", wire["reason"]))


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
    with _reading(place):
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


class CallRow(Protocol):
    node_id: str
    visit_uuid: str | None
    role: str
    n: int
    kind: str
    call_json: str
    created_at: str


def read_visit(row: VisitRow, blobs: Mapping[str, bytes]) -> Visit:
    """Make a visit of its row; `blobs` are the large outputs, by hash. Its writers are None where they are unreadable."""
    place = f"visit {row.sort_order + 1} ({row.node_id!r})"
    with _reading(place):
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
    with _reading(place):
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


def read_call(row: CallRow) -> CallRecord:
    place = f"call {row.n} of {row.node_id!r}"
    with _reading(place):
        wire = read_object(row.call_json, place)
        error = cast("Json | None", wire.get("error"))
        created_at = read_time(row.created_at)
        assert created_at is not None
        return CallRecord(
            node_id=NodeId(row.node_id),
            visit_id=VisitId(row.visit_uuid) if row.visit_uuid else None,
            role=cast("CallRole", row.role),
            n=row.n,
            kind="model" if row.kind == "model" else "tool",
            name=cast("str", wire["name"]),
            request=wire["request"],
            response=wire["response"],
            attempt=cast("int", wire["attempt"]),
            usage=read_usage(cast("Json", wire["usage"])),
            latency_ms=cast("int", wire["latencyMs"]),
            created_at=created_at,
            error=read_error(error) if error is not None else None,
            recovered=wire.get("recovered") is True,
            model=cast("str | None", wire.get("model")),
            finish_reason=cast("str | None", wire.get("finishReason")),
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


def read_own_usage(text: str | None, place: str) -> Usage:
    with _reading(f"the usage of {place}"):
        return read_usage(read_object(text, f"the usage of {place}")) if text else NO_USAGE


class _reading:  # noqa: N801  # reads as a statement: with _reading("…")
    """Turns what a damaged row makes its reader raise into `DamagedError`."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, KeyError | ValueError | TypeError | AttributeError | AssertionError):
            raise DamagedError(f"{self._what} has not the form that it was stored in") from error


def times(started_at: datetime | None, finished_at: datetime | None) -> tuple[str | None, str | None]:
    return (
        time_on_wire(started_at) if started_at else None,
        time_on_wire(finished_at) if finished_at else None,
    )
