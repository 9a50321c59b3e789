"""What the domain says of a run stands in rows and comes back as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.decision import Decision, Rejected
from flyback.domain.envelope import Envelope
from flyback.domain.events import EventType, NewEvent
from flyback.domain.graph import NodeId
from flyback.domain.run import Budget, ErrorInfo, RunId, RunUsage, StepStatus, Usage, VisitId
from flyback.domain.visit import Visit
from flyback.domain.wire import error_on_wire, time_on_wire, usage_on_wire
from flyback.engine.log import CallRecord, Commit, NodeRecord, RunOptions
from flyback.storage.decode import read_options
from flyback.storage.encode import CALL_BYTES, Encoder, options_json
from flyback.storage.ledger.rows import CALL_COLUMNS, NODE_COLUMNS, STARTED_COLUMNS, CommitRows, rows_of
from flyback.storage.row_values import NodeRow, VisitRow, read_node, read_visit

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)

_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
_moments = st.integers(0, 10**9).map(lambda ms: NOW + timedelta(milliseconds=ms))
_counts = st.integers(0, 10**6)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=8,
)
_objects = st.dictionaries(_texts, _json, max_size=4)
_nodes = _texts.map(NodeId)
_usages = st.builds(
    Usage, _counts, _counts, _counts, st.none() | st.floats(0, 1e6), st.none() | st.sampled_from(["EUR"]), st.booleans()
)
_errors = st.builds(ErrorInfo, _texts, _texts, st.none() | _texts, st.none() | _texts, st.none() | _texts)
_envelopes = st.builds(Envelope, _nodes, _texts, _objects, _objects, _objects)
_decisions = st.builds(
    Decision,
    next=_nodes,
    reason=_texts,
    source=st.sampled_from(["planner", "fallback", "person", "only_choice"]),
    on_canvas=st.booleans(),
    cause=st.none() | _texts,
    model=st.none() | _texts,
    method=st.sampled_from([None, "json", "likelihood", "likelihood_edge"]),
    scores=st.none() | st.dictionaries(_texts, st.floats(-50, 50), min_size=1, max_size=3),
    margin=st.none() | st.floats(0, 50),
    left_out=st.lists(_texts, max_size=3).map(tuple),
    usage=_usages,
    latency_ms=_counts,
    attempts=st.integers(1, 2),
    rejected=st.lists(st.builds(Rejected, _texts, _texts), max_size=2).map(tuple),
)
_visits = st.builds(
    Visit,
    visit_id=st.just(VisitId("v")),
    node_id=_nodes,
    node_type=_texts,
    node_label=_texts,
    iter_seq=st.integers(1, 50),
    sort_order=st.integers(0, 49),
    from_visit_id=st.none() | st.just(VisitId("w")),
    from_node_id=st.none() | st.just(NodeId("a")),
    on_canvas=st.booleans(),
    status=st.sampled_from([StepStatus.SUCCESS, StepStatus.FAILED, StepStatus.CANCELLED]),
    attempts=st.integers(0, 4),
    envelope=st.none() | _envelopes,
    writers=st.dictionaries(_texts, st.integers(-1, 49), max_size=4),
    handle=st.none() | _texts,
    error=st.none() | _errors,
    decision=_decisions,
    usage=_usages,
    started_at=_moments,
    finished_at=_moments,
)
_records = st.builds(
    NodeRecord,
    node_id=_nodes,
    node_type=_texts,
    node_label=_texts,
    status=st.sampled_from(list(StepStatus)),
    attempts=st.integers(0, 4),
    inputs=_objects,
    envelope=st.none() | _envelopes,
    handle=st.none() | _texts,
    error=st.none() | _errors,
    usage=_usages,
    started_at=st.none() | _moments,
    finished_at=st.none() | _moments,
)
_calls = st.builds(
    CallRecord,
    node_id=_nodes,
    visit_id=st.none() | st.just(VisitId("v")),
    role=st.sampled_from(["node", "planner"]),
    n=st.integers(1, 99),
    kind=st.sampled_from(["model", "tool"]),
    name=_texts,
    request=_json,
    response=_json,
    attempt=st.integers(1, 4),
    usage=_usages,
    latency_ms=_counts,
    created_at=_moments,
    error=st.none() | _errors,
    model=st.none() | _texts,
    finish_reason=st.none() | _texts,
)


def _rows(**parts: object) -> CommitRows:
    commit = Commit(RunId("run"), epoch=1, step=1, usage=RunUsage(), events=())
    return rows_of(replace(commit, **parts), NOW)


def _row(columns: Mapping[str, object]) -> object:
    return SimpleNamespace(**columns)


def _named(names: Sequence[str], row: Sequence[object]) -> dict[str, object]:
    return dict(zip(names, row, strict=True))


@given(_visits)
def test_a_visit_comes_back_from_its_row(visit: Visit) -> None:
    # given a visit that was started, then ended, then decided on
    started = _rows(started=visit).started
    assert started is not None
    ended = _rows(visit=visit, decided=visit)
    # when its row is read
    empty: Mapping[str, object] = dict.fromkeys(VisitRow.__annotations__)
    columns = {**empty, **_named(STARTED_COLUMNS, started), **ended.visits[visit.visit_id]}
    blobs = {blob.hash: blob.content for blob in ended.blobs}
    # then it is the same visit
    assert read_visit(cast("VisitRow", _row(columns)), blobs) == visit


@given(_records)
def test_a_node_record_comes_back_from_its_row(record: NodeRecord) -> None:
    rows = _rows(nodes=[record])
    (row,) = rows.nodes
    read = read_node(cast("NodeRow", _row(_named(NODE_COLUMNS, row))), {})
    assert read == record


@given(_calls)
def test_the_row_of_a_call_holds_it_as_people_are_shown_it(call: CallRecord) -> None:
    (row,) = _rows(calls=[call]).calls
    *place, whole, created_at = row
    assert place == [call.node_id, call.visit_id, call.role, call.n, call.kind]
    assert created_at == time_on_wire(call.created_at)
    assert json.loads(cast("str", whole)) == {
        "name": call.name,
        "model": call.model,
        "request": call.request,
        "response": call.response,
        "attempt": call.attempt,
        "usage": usage_on_wire(call.usage),
        "latencyMs": call.latency_ms,
        "finishReason": call.finish_reason,
        "error": error_on_wire(call.error) if call.error else None,
    }


@given(
    st.builds(
        RunOptions,
        default_model=_texts,
        planner_model=st.none() | _texts,
        max_visits=st.integers(1, 50),
        budget=st.builds(Budget, st.none() | _counts, st.none() | st.floats(0, 1e6), st.none() | st.floats(0, 1e6)),
        queued_inputs=st.dictionaries(_nodes, st.lists(_objects, max_size=2), max_size=2),
        script=_json,
        parallel_nodes=st.integers(1, 64),
    )
)
def test_the_options_of_a_run_come_back_from_its_row(options: RunOptions) -> None:
    assert read_options(options_json(options)) == options


@given(_envelopes)
def test_an_event_holds_the_output_as_on_the_wire(envelope: Envelope) -> None:
    event = NewEvent(EventType.VISIT_RECORDED, {"nodeId": "a", "output": envelope, "big": 10**40})
    text = Encoder().event(event.data)
    assert "\n" not in text
    assert json.loads(text) == {"nodeId": "a", "output": envelope.on_wire(), "big": 10**40}


def test_given_an_output_too_large_for_an_event_when_it_is_told_then_it_is_cut_by_whole_values_and_marked() -> None:
    data: dict[str, JsonValue] = {"old": "x" * 100_000, "text": "short"}
    envelope = Envelope(NodeId("a"), "llm", data, meta={"mended": ["y" * 70_000]})
    told = json.loads(Encoder().event({"output": envelope}))
    assert told["outputTruncated"] is True
    assert told["outputSize"] > 170_000
    assert told["output"]["data"]["text"] == "short"
    assert told["output"]["data"]["old"]["__truncated__"] is True
    assert len(json.dumps(told)) < 64 * 1024 + 200


def test_given_an_output_too_large_for_its_row_when_it_is_stored_then_it_lies_whole_in_a_blob_once() -> None:
    envelope = Envelope(NodeId("a"), "llm", {"text": "x" * 100_000})
    record = NodeRecord(NodeId("a"), "llm", "A", StepStatus.SUCCESS, envelope=envelope)
    rows = _rows(nodes=[record])
    (blob,) = rows.blobs
    columns = _named(NODE_COLUMNS, rows.nodes[0])
    assert (columns["output_json"], columns["output_blob"]) == (None, blob.hash)
    assert read_node(cast("NodeRow", _row(columns)), {blob.hash: blob.content}) == record


def test_given_a_call_with_a_huge_answer_when_it_is_recorded_then_it_is_cut_and_marked() -> None:
    call = CallRecord(NodeId("a"), None, "node", 1, "model", "m", [], "é" * CALL_BYTES, 1, Usage(), 1, created_at=NOW)
    (row,) = _rows(calls=[call]).calls
    kept = json.loads(str(_named(CALL_COLUMNS, row)["call_json"]))["response"]
    assert (kept["__truncated__"], kept["size"]) == (True, 2 * CALL_BYTES + 2)
    assert len(kept["head"].encode()) < CALL_BYTES
