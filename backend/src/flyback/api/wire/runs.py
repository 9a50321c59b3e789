"""Runs on the wire: starting one, the list, the detail, visits, node records, calls, pauses, forks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, field_validator

from flyback.api.payloads import Answer, Name, Omitted, Page, Payload, PlainText, Time, WholeList
from flyback.api.wire.common import (
    BudgetGiven,
    Envelope,
    Failure,
    Graph,
    Mode,
    RunStatus,
    RunUsage,
    StepStatus,
    Usage,
    VersionChosen,
)
from flyback.api.wire.workflows import ModeGiven, WorkflowDocument

Variables = dict[str, JsonValue]
NodeId = Annotated[str, Field(min_length=1, max_length=128)]
Position = Annotated[str, Field(min_length=1, max_length=64)]


class RunGiven(Payload):
    """How to run a workflow."""

    inputs: Variables = Field(default_factory=dict, description="Input variable to value.")
    queued_inputs: dict[str, list[Variables]] | None = Field(
        default=None, description="Node id to what later visits of that userInput take, in order."
    )
    version: VersionChosen | None = Field(
        default=None, description="A published version; missing means the saved draft."
    )
    mode: ModeGiven | None = None
    model: Name | None = Field(default=None, description="The default model of this run.")
    budget: BudgetGiven | None = None


class UnsavedRunGiven(RunGiven):
    """How to run a graph that is not saved."""

    workflow: WorkflowDocument

    @field_validator("version")
    @classmethod
    def _has_no_versions(cls, version: VersionChosen | None) -> None:
        if version is not None:
            raise ValueError("a graph that is not saved has no versions")


class RunAccepted(Answer):
    run_id: str
    status: RunStatus


class RunOutput(Answer):
    node_id: str
    result: JsonValue
    unresolved: Omitted[list[str]]


class Warning(Answer):
    message: str
    node: str | None
    field: str | None
    fix: str | None


class Run(Answer):
    run_id: str
    workflow_id: str | None
    workflow_name: str
    version: int | None
    mode: Mode
    status: RunStatus
    inputs: Variables
    outputs: list[RunOutput]
    visit_count: int | None
    usage: RunUsage
    error_code: str | None
    error_msg: str | None
    error_node_id: str | None
    error_path: list[str] | None
    parent_run_id: str | None = Field(description="The run that started this one, or that it was forked from.")
    root_run_id: str | None = Field(description="Of a sub-run: the run that it is driven in.")
    parent_node_id: str | None = Field(description="Of a sub-run: the node that started it.")
    parent_visit_id: str | None
    item_index: int | None = Field(description="Of a sub-run: which item of an iteration it is for, from 0.")
    item_count: int | None
    forked_from_visit: str | None
    warnings: list[Warning]
    created_at: Time
    started_at: Time | None
    finished_at: Time | None


class Stop(Answer):
    """A visit, or a node of a DAG run, without what it holds."""

    node_id: str
    node_label: str
    iter_seq: int
    on_canvas: bool
    status: StepStatus


class ListedRun(Run):
    """A run with its route in small: its visits, or the nodes of a DAG run in the order in which they began."""

    route: list[Stop] = Field(description="The last fifty stops.")
    route_length: int = Field(description="How many stops there are in all.")


class RunPage(Page):
    items: list[ListedRun]


class Rejected(Answer):
    answer: str
    why: str


class Decision(Answer):
    """Where the planner sent the run after a visit, and why."""

    next: str
    reason: str
    source: Literal["planner", "fallback", "person", "only_choice"]
    cause: Omitted[str]
    model: str | None
    method: Omitted[Literal["json", "likelihood", "likelihood_edge"]]
    scores: Omitted[dict[str, float]]
    margin: Omitted[float]
    left_out: Omitted[list[str]]
    usage: Usage
    latency_ms: int
    attempts: int
    rejected: Omitted[list[Rejected]]
    on_canvas: bool


class Visit(Answer):
    """One execution of one node in an AGENTIC run. In lists `variables` and `output` are cut at 64 KiB each and marked."""

    visit_id: str
    node_id: str
    node_type: str
    node_label: str
    iter_seq: int
    from_visit_id: str | None
    from_node_id: str | None
    is_fly_back: bool
    on_canvas: bool
    variables: Variables
    variables_truncated: bool
    output: Envelope | None
    output_truncated: Omitted[bool]
    output_size: Omitted[int]
    decision: Decision | None
    status: StepStatus
    error: Failure | None
    sort_order: int
    attempts: int
    usage: Usage
    shared_with: Omitted[str] = Field(description="Of a fork: the visit of the other run that this one is.")
    edited: Omitted[list[str]] = Field(description="Of a fork: what a person wrote over the workspace after it.")
    started_at: Time | None
    finished_at: Time | None
    created_at: Time


class VisitPage(Page):
    items: list[Visit]


class NodeRecord(Answer):
    """One node of a DAG run. `inputs` are the variables that its templates used."""

    node_id: str
    node_type: str
    node_label: str
    status: StepStatus
    attempts: int
    inputs: Variables
    output: Envelope | None
    output_truncated: Omitted[bool]
    output_size: Omitted[int]
    error: Failure | None
    usage: Usage
    started_at: Time | None
    finished_at: Time | None


class Question(Answer):
    id: str
    text: str
    choices: Omitted[list[str]]
    multi: Omitted[bool]
    schema_: Omitted[dict[str, JsonValue]] = Field(
        alias="schema", description="Of a form's field: what its value must be, as a userInput node declares it."
    )

    call_kind: Omitted[Literal["tool", "http", "code"]] = Field(
        description="Of an approval: whether a tool is to run, or what an http or a code node does itself."
    )
    tool: Omitted[str] = Field(
        description="Of an approval: the tool that is to run, or the name of what the node does."
    )
    server: Omitted[str] = Field(description="Of an approval: the tool's MCP server, null where it is of none.")
    arguments: Omitted[dict[str, JsonValue]] = Field(
        description="Of an approval: what the tool is given, exactly. In an event it may be cut."
    )
    hash: Omitted[str] = Field(description="Of an approval: of tool, server and arguments, to which it is bound.")


class PauseAction(Answer):
    """A way to answer a form or an approval."""

    id: str
    label: str


class QuestionAnswer(Payload):
    question_id: str = Field(max_length=200)
    value: JsonValue


class PauseAnswerGiven(Payload):
    """What a person says to a question: `answers`, or `answer` where there is one, and the action that is taken."""

    answers: list[QuestionAnswer] = Field(default_factory=list[QuestionAnswer], max_length=1_000)
    answer: JsonValue = None
    action: str | None = Field(
        default=None,
        max_length=100,
        description="A question: `answer` or `skip`. A form: one of its actions. An approval: `approve` or `deny`. "
        "Every one: `cancel`, which cancels the run.",
    )


class Pause(Answer):
    """What waits for a person."""

    pause_id: str
    run_id: str
    root_run_id: str | None = Field(description="Where the run is a sub-run: the run that it is driven in.")
    workflow_id: str | None
    workflow_name: str = Field(description="As it was called when the run began.")
    node_id: str
    node_label: str
    visit_id: str | None
    kind: Literal["question", "approval", "form"]
    status: Literal["OPEN", "ANSWERED", "EXPIRED", "CANCELLED"]
    prompt: str
    questions: list[Question]
    actions: list[PauseAction]
    on_timeout: str | None
    expires_at: Time | None
    created_at: Time
    answers: JsonValue
    action: str | None
    answered_by: str | None
    answered_at: Time | None


class SubRun(Answer):
    """One sub-run of a run. Each is a run of its own, to be read under `/runs/{runId}`."""

    run_id: str
    workflow_id: str | None
    workflow_name: str
    node_id: str
    visit_id: str | None
    index: int = Field(description="Which item of an iteration, from 0.")
    count: int = Field(description="How many items there are.")
    status: RunStatus
    error_code: str | None
    started_at: Time | None
    finished_at: Time | None


class PauseList(WholeList):
    items: list[Pause]


class RunDetail(Run):
    """A run, whole: the graph as it ran, its nodes (DAG) or its visits (AGENTIC), what waits for a person."""

    graph_data: Graph
    default_model: str
    planner_model_id: str | None
    max_visits: int
    nodes: Omitted[list[NodeRecord]]
    visits: Omitted[list[Visit]]
    pauses: list[Pause] = Field(description="Of this run and of all runs inside it; `runId` says of which.")
    children: list[SubRun] = Field(
        description="The runs that its nodes started, place by place and in the order of their items; the last 1,000 of them."
    )


class Workspace(Answer):
    """Every variable that the run had gathered after a visit, in the order last written."""

    visit_id: str
    variables: Variables


class Overwritten(Answer):
    name: str
    before: JsonValue
    after: JsonValue
    last_written_by: str | None


class Added(Answer):
    name: str
    after: JsonValue


class WorkspaceDiff(Answer):
    against: str | None = Field(description="The visit that this one is compared with.")
    added: list[Added]
    overwritten: list[Overwritten]
    removed: list[str] = Field(description="What only the other visit has.")
    unchanged: list[str]


class Call(Answer):
    """A model or tool call: what was sent, what came back. Secrets are left out, each part is cut at 256 KiB."""

    node_id: str
    visit_id: str | None
    role: Literal["node", "planner"]
    n: int
    kind: Literal["model", "tool"]
    name: str
    request: JsonValue
    response: JsonValue
    attempt: int
    usage: Usage
    latency_ms: int
    model: str | None
    finish_reason: str | None
    error: Failure | None
    recovered: Omitted[bool] = Field(
        description="A process died while it was being made: what a tool does may have been done twice."
    )
    created_at: Time


class CallList(WholeList):
    items: list[Call]


class RunCancelled(Answer):
    run_id: str
    status: RunStatus


class NodeTestGiven(Payload):
    """What a node is tried on: variables of one's own, or the workspace of a visit."""

    variables: Variables | None = None
    run_id: Position | None = None
    visit_id: Position | None = None


class NodeTest(Answer):
    status: StepStatus
    output: Envelope | None
    error: Failure | None
    inputs: Variables
    usage: Usage
    attempts: int
    calls: list[Call]


class ForkGiven(Payload):
    """From which visit on to run again, and what is to be different."""

    visit_id: Position = Field(description="The last visit that is shared. It has ended.")
    variables: Variables | None = Field(
        default=None, description="Written over the workspace after that visit, by its keys: `draft__text`, `topic`."
    )
    next: NodeId | None = Field(default=None, description="Where to go on; missing asks the planner anew.")
    reason: Annotated[PlainText, Field(max_length=500)] | None = Field(
        default=None, description="Why `next`: what the visit there is told."
    )
    planner_model_id: Name | None = None
    version: VersionChosen | None = Field(
        default=None, description="A published version; missing means the graph of the run itself."
    )


class ComparedStep(Answer):
    """One row of a comparison: a visit (or node) of either run, or of both."""

    relation: Literal["same", "differs", "only_a", "only_b"]
    a: Visit | NodeRecord | None
    b: Visit | NodeRecord | None


class ComparedVariable(Answer):
    name: str
    a: JsonValue
    b: JsonValue


class Comparison(Answer):
    a: Run
    b: Run
    steps: list[ComparedStep]
    variables: list[ComparedVariable]
    usage: dict[str, JsonValue]
    duration_ms: dict[str, int | None]


class Jump(Answer):
    from_node_id: str
    to_node_id: str
    count: int
    drawn: int = Field(description="How many of them were drawn steps.")


class Revisit(Answer):
    node_id: str
    visits: int
    revisits: int
    runs: int


class Reason(Answer):
    reason: str
    count: int
    next: str


class DecisionStatistics(Answer):
    workflow_id: str | None
    runs: int
    decisions: int
    fly_backs: int
    fallbacks: int
    by_source: dict[str, int]
    jumps: list[Jump]
    revisits: list[Revisit]
    fallback_causes: list[Reason]
    reasons: list[Reason]
