"""Shapes that several nouns share: usage, failures, envelopes, budgets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from flyback.api.payloads import INT32, Answer, Document, Omitted, Payload

Mode = Literal["DAG", "AGENTIC"]
RunStatus = Literal["PENDING", "RUNNING", "PAUSED", "SUCCESS", "FAILED", "CANCELLED"]
StepStatus = Literal["PENDING", "RUNNING", "PAUSED", "SUCCESS", "FAILED", "SKIPPED", "CANCELLED"]
Graph = Annotated[
    dict[str, JsonValue],
    Field(
        description="`{nodes: [{id, type, position, data}], edges: [{id, source, target, sourceHandle}]}`; unknown keys are kept."
    ),
]


class Usage(Answer):
    """What model calls used; `cost` is null without a price."""

    input_tokens: int
    output_tokens: int
    calls: int
    cost: float | None
    currency: str | None
    estimated: Omitted[bool]


class RunUsage(Usage):
    """A run's sum; `planner` and `subRuns` are contained in it."""

    planner: Usage
    sub_runs: Omitted[Usage] = Field(description="What the runs used that its nodes started.")
    driven_seconds: Omitted[float] = Field(description="Time that something drove the run.")


class Failure(Answer):
    code: str
    message: str
    node: Omitted[str]
    field: Omitted[str]
    fix: Omitted[str]


class Envelope(Answer):
    """What a node returned."""

    node_id: str
    node_type: str
    data: dict[str, JsonValue]
    meta: dict[str, JsonValue]
    signals: Omitted[dict[str, JsonValue]]


class BudgetGiven(Payload):
    """What a run may use at most. Missing or null means no limit."""

    tokens: Annotated[int, Field(ge=1, le=2**53)] | None = None
    seconds: Annotated[float, Field(gt=0, le=1e9)] | None = Field(default=None, description="Driven time.")
    cost: Annotated[float, Field(gt=0, le=1e12)] | None = None


class Budget(Document):
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None


VersionNumber = Annotated[int, Field(strict=True, ge=1, le=INT32)]
VersionChosen = VersionNumber | Literal["latest"]
