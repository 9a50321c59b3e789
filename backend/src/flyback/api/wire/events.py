"""The events of a run on the wire, by type. The live-only ones have no `seq`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, RootModel

from flyback.api.payloads import Answer, Omitted, Time
from flyback.api.wire.common import Envelope, Failure, Mode, RunStatus, RunUsage, StepStatus, Usage
from flyback.api.wire.runs import Decision, PauseAction, Question, RunOutput, Variables


class Told(Answer):
    """What an event of a node or a visit says."""

    shared: Omitted[bool] = Field(
        description="Of a fork: it tells of what the other run did before, and is not done again."
    )


class RunStarted(Answer):
    workflow_id: str | None
    mode: Mode
    version: int | None
    inputs: Variables
    inputs_truncated: Omitted[bool]
    inputs_size: Omitted[int]
    default_model: str
    parent_run_id: Omitted[str]
    forked_from_visit: Omitted[str]


class NodeStatus(Told):
    node_id: str
    status: StepStatus
    attempt: Omitted[int]
    recovered: Omitted[bool]
    error: Omitted[Failure]
    visit_id: Omitted[str]
    iter_seq: Omitted[int]
    sort_order: Omitted[int]
    from_visit_id: Omitted[str]
    from_node_id: Omitted[str]
    is_fly_back: Omitted[bool]
    on_canvas: Omitted[bool]
    output: Omitted[Envelope]
    output_truncated: Omitted[bool]
    output_size: Omitted[int]
    usage: Omitted[Usage]
    started_at: Omitted[Time]
    finished_at: Omitted[Time]


class NodeRetry(Told):
    node_id: str
    visit_id: Omitted[str]
    attempt: int
    error: Failure
    wait_ms: int


class LiveText(Answer):
    source: Literal["node", "planner"]
    node_id: str
    visit_id: Omitted[str]
    attempt: int
    text: str


class ToolCall(Told):
    call_id: str
    node_id: str
    visit_id: Omitted[str]
    name: str
    arguments: JsonValue
    recovered: Omitted[bool] = Field(description="Told before, by a process that died while the call was being made.")


class ToolResult(Told):
    call_id: str
    node_id: str
    visit_id: Omitted[str]
    name: str
    result: JsonValue
    error: Omitted[Failure]
    duration_ms: int


class Changed(Answer):
    added: list[str]
    overwritten: list[str]


class VisitRecorded(Told):
    """The visit as elsewhere, without `variables` and `decision`."""

    visit_id: str
    node_id: str
    node_type: str
    node_label: str
    iter_seq: int
    from_visit_id: str | None
    from_node_id: str | None
    is_fly_back: bool
    on_canvas: bool
    output: Envelope | None
    output_truncated: Omitted[bool]
    output_size: Omitted[int]
    status: StepStatus
    error: Failure | None
    sort_order: int
    attempts: int
    usage: Usage
    started_at: Time | None
    finished_at: Time | None
    created_at: Time | None
    changed: Changed
    edited: Omitted[list[str]] = Field(description="Of a fork: what a person wrote over the workspace after it.")


class PlannerDecision(Told, Decision):
    visit_id: str


class ClarifyRequest(Told):
    pause_id: str
    kind: Literal["question", "approval", "form"]
    node_id: str
    visit_id: Omitted[str]
    prompt: str
    questions: list[Question]
    actions: list[PauseAction]
    on_timeout: str | None
    expires_at: Time | None


class ClarifyAnswered(Told):
    pause_id: str
    kind: Literal["question", "approval", "form"]
    node_id: str
    visit_id: Omitted[str]
    answers: JsonValue
    action: str | None
    by: str


class PauseExpired(Told):
    pause_id: str
    kind: Literal["question", "approval", "form"]
    node_id: str
    visit_id: Omitted[str]


class SubRun(Told):
    """A sub-run began, waits for a person, was answered (`PENDING`) or ended."""

    node_id: str
    visit_id: Omitted[str]
    sub_run_id: str
    index: int = Field(description="Which item of an iteration, from 0.")
    count: int = Field(description="How many items there are.")
    status: RunStatus


class PauseIds(Answer):
    pause_ids: list[str]


class WorkflowComplete(Answer):
    success: bool
    outputs: list[RunOutput]
    outputs_truncated: Omitted[bool]
    outputs_size: Omitted[int]
    usage: RunUsage
    visit_count: int | None
    duration_ms: int


class WorkflowError(Answer):
    code: str
    message: str
    node_id: Omitted[str]
    path: list[str]
    partial: Omitted[JsonValue]


class RunCancelledBy(Answer):
    by: str


class _Numbered(Answer):
    run_id: str
    seq: int = Field(description="Rises by one within a run, from 1, without gaps.")
    timestamp: Time


class _Live(Answer):
    run_id: str
    timestamp: Time


class RunStartedEvent(_Numbered):
    type: Literal["run_started"]
    data: RunStarted


class NodeStatusEvent(_Numbered):
    type: Literal["node_status"]
    data: NodeStatus


class NodeRetryEvent(_Numbered):
    type: Literal["node_retry"]
    data: NodeRetry


class TextDeltaEvent(_Live):
    type: Literal["text_delta"]
    data: LiveText


class TextSnapshotEvent(_Live):
    """Replaces the text so far."""

    type: Literal["text_snapshot"]
    data: LiveText


class ToolCallEvent(_Numbered):
    type: Literal["tool_call"]
    data: ToolCall


class ToolResultEvent(_Numbered):
    type: Literal["tool_result"]
    data: ToolResult


class VisitRecordedEvent(_Numbered):
    type: Literal["visit_recorded"]
    data: VisitRecorded


class PlannerDecisionEvent(_Numbered):
    type: Literal["planner_decision"]
    data: PlannerDecision


class ClarifyRequestEvent(_Numbered):
    type: Literal["clarify_request"]
    data: ClarifyRequest


class ClarifyAnsweredEvent(_Numbered):
    type: Literal["clarify_answered"]
    data: ClarifyAnswered


class PauseExpiredEvent(_Numbered):
    type: Literal["pause_expired"]
    data: PauseExpired


class SubRunEvent(_Numbered):
    type: Literal["sub_run"]
    data: SubRun


class RunPausedEvent(_Numbered):
    type: Literal["run_paused"]
    data: PauseIds


class RunResumedEvent(_Numbered):
    type: Literal["run_resumed"]
    data: PauseIds


class WorkflowCompleteEvent(_Numbered):
    type: Literal["workflow_complete"]
    data: WorkflowComplete


class WorkflowErrorEvent(_Numbered):
    type: Literal["workflow_error"]
    data: WorkflowError


class RunCancelledEvent(_Numbered):
    type: Literal["run_cancelled"]
    data: RunCancelledBy


class RunEvent(
    RootModel[
        Annotated[
            RunStartedEvent
            | NodeStatusEvent
            | NodeRetryEvent
            | TextDeltaEvent
            | TextSnapshotEvent
            | ToolCallEvent
            | ToolResultEvent
            | VisitRecordedEvent
            | PlannerDecisionEvent
            | ClarifyRequestEvent
            | ClarifyAnsweredEvent
            | PauseExpiredEvent
            | SubRunEvent
            | RunPausedEvent
            | RunResumedEvent
            | WorkflowCompleteEvent
            | WorkflowErrorEvent
            | RunCancelledEvent,
            Field(discriminator="type"),
        ]
    ]
):
    """The JSON of one event's `data:` line."""
