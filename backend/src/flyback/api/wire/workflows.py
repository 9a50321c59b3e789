"""Workflows on the wire: the document, its list, restore points, versions, checks, import."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue

from flyback.api.payloads import Answer, Count, Document, Name, Page, Payload, PlainText, Time, WholeList
from flyback.api.wire.common import Graph, Mode, RunStatus
from flyback.domain.run import Mode as RunMode

GraphGiven = Annotated[
    dict[str, JsonValue] | str, Field(description="The graph, as an object or as its JSON text. Unknown keys are kept.")
]


def _known_mode(mode: str) -> str:
    try:
        RunMode.read(mode)
    except ValueError:
        raise ValueError("a mode is DAG or AGENTIC") from None
    return mode


ModeGiven = Annotated[
    str,
    Field(description="`DAG` or `AGENTIC`, in any case; missing or null means DAG.", max_length=20),
    AfterValidator(_known_mode),
]


class WorkflowDocument(Document):
    """A graph file. Keys that are not listed are kept; those that the server owns are ignored."""

    name: Annotated[PlainText, Field(max_length=200)] | None = None
    description: Annotated[PlainText, Field(max_length=20_000)] | None = None
    mode: ModeGiven | None = None
    graph_data: GraphGiven | None = None
    planner_model_id: Annotated[PlainText, Field(max_length=200)] | None = None
    max_visits: Annotated[int, Field(ge=1, le=50)] | None = None
    budget: JsonValue = None
    settings: dict[str, JsonValue] | None = None
    script: JsonValue = None


class WorkflowSaved(WorkflowDocument):
    """The whole document, and the revision that it was made from."""

    revision: Count


class WorkflowChanged(WorkflowDocument):
    """The keys to change; the others stay. With `revision`, only if nothing was saved since."""

    revision: Count | None = None


class WorkflowSummary(Answer):
    """What a list says of a workflow."""

    id: str
    name: str
    description: str
    mode: Mode
    revision: int
    node_count: int
    edge_count: int
    published_version: int | None
    draft_changed: bool = Field(description="Whether the draft differs from what was published last.")
    last_runs: list[RunOutcome] = Field(description="The newest runs, newest first, at most 12.")
    created_at: Time
    updated_at: Time


class RunOutcome(Answer):
    run_id: str
    status: RunStatus
    mode: Mode
    visit_count: int | None
    fly_backs: int | None
    error_code: str | None
    error_node_id: str | None
    created_at: Time
    finished_at: Time | None


class WorkflowPage(Page):
    items: list[WorkflowSummary]


class Workflow(Document):
    """A workflow as it is stored. Keys beyond those listed are the person's own and come back as they were sent."""

    id: str
    name: str
    description: str
    mode: Mode
    graph_data: Graph
    planner_model_id: str | None
    max_visits: int | None
    budget: JsonValue
    settings: dict[str, JsonValue]
    revision: int
    created_at: Time
    updated_at: Time


class RestorePoint(Answer):
    revision: int
    note: str | None
    name: str
    mode: Mode
    node_count: int
    edge_count: int
    created_at: Time


class RestorePointPage(Page):
    items: list[RestorePoint]


class RestorePointDocument(Answer):
    """One restore point, whole."""

    revision: int
    note: str | None
    created_at: Time
    workflow: Workflow


class RestorePointNamed(Payload):
    note: Annotated[PlainText, Field(max_length=500)]


class VersionGiven(Payload):
    note: Annotated[PlainText, Field(max_length=2_000)] = ""
    revision: Count | None = Field(default=None, description="Publish only if this is still the stored revision.")


class VersionSummary(Answer):
    workflow_id: str
    version: int
    mode: Mode
    note: str
    node_count: int
    edge_count: int
    published_at: Time


class VersionPage(Page):
    items: list[VersionSummary]


class Version(VersionSummary):
    graph_data: Graph
    workflow: Workflow


class DuplicateGiven(Payload):
    name: Name | None = None


class CheckFault(Answer):
    node: str | None
    field: str | None
    message: str
    fix: str | None


class Check(Answer):
    """What a check found. Errors stop a run, warnings do not."""

    valid: bool
    errors: list[CheckFault]
    warnings: list[CheckFault]
    levels: list[list[str]] = Field(description="Node ids by level, for display.")


class ImportNote(Answer):
    level: Literal["info", "warning", "error"]
    node: str | None
    field: str | None
    message: str
    fix: str | None


class ImportReport(Answer):
    format: str
    nodes: int
    edges: int
    notes: list[ImportNote]


class Imported(Answer):
    workflow: Workflow
    report: ImportReport


class Sample(Answer):
    id: str
    name: dict[str, str] = Field(description="Language to name.")
    description: dict[str, str]
    mode: Mode
    node_count: int
    graph_data: Graph
    inputs: dict[str, JsonValue] = Field(description="Inputs to try it with.")
    seconds: int | None = Field(description="About how long a run takes.")
    waits: bool = Field(description="Whether a run asks a person.")
    script: JsonValue = Field(
        description="The prepared answers it runs with where no model is there; they show its route."
    )


class SampleList(WholeList):
    items: list[Sample]


WorkflowSummary.model_rebuild()
