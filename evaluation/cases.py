"""The cases as values: a drawing with the visits so far for the planner, a text with branches for a condition.

Some are held out: they were written after the prompts and rules had been tuned on the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from flyback.domain.decision import Decision
from flyback.domain.envelope import Envelope
from flyback.domain.graph import OUTPUT, Graph, NodeId
from flyback.domain.graph_file import read_graph
from flyback.domain.run import ErrorInfo, StepStatus, VisitId
from flyback.domain.visit import Visit
from flyback.engine.agentic.chain import Chain

_HERE = Path(__file__).parent
_WHEN = datetime(2026, 1, 1, tzinfo=UTC)


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Graph(_Document):
    language: str
    heldOut: bool = False  # noqa: N815  # as in the file
    nodes: list[tuple[str, str, str, str]]
    """Id, type, label, description."""
    edges: list[str]


class _Visit(_Document):
    node: str
    text: str | None = None
    data: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    signals: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    error: str | None = None


class _Planner(_Document):
    id: str
    kind: str
    graph: str
    inputs: dict[str, JsonValue]
    visits: list[_Visit]
    expect: list[str]


class _PlannerFile(_Document):
    graphs: dict[str, _Graph]
    cases: list[_Planner]


class _Condition(_Document):
    id: str
    kind: str
    language: str
    text: str
    branches: list[str]
    expect: int


@dataclass(frozen=True, slots=True)
class PlannerCase:
    id: str
    kind: str
    language: str
    held_out: bool
    graph: Graph
    inputs: Mapping[str, JsonValue]
    chain: Chain
    expected: Sequence[NodeId]
    """Any of these is right."""


@dataclass(frozen=True, slots=True)
class ConditionCase:
    id: str
    kind: str
    language: str
    held_out: bool
    text: str
    branches: Sequence[str]
    expected: int
    """The branch's place; one past the last for ELSE."""


def planner_cases() -> list[PlannerCase]:
    document = _PlannerFile.model_validate_json((_HERE / "planner.json").read_bytes())
    found: list[PlannerCase] = []
    for case in document.cases:
        drawn = document.graphs[case.graph]
        graph = _draw(case.graph, drawn)
        found.append(
            PlannerCase(
                id=case.id,
                kind=case.kind,
                language=drawn.language,
                held_out=drawn.heldOut,
                graph=graph,
                inputs=case.inputs,
                chain=_walk(graph, case),
                expected=[NodeId(node_id) for node_id in case.expect],
            )
        )
    return found


def condition_cases() -> list[ConditionCase]:
    class Cases(_Document):
        cases: list[_Condition]

    document = Cases.model_validate_json((_HERE / "conditions.json").read_bytes())
    return [
        ConditionCase(case.id, case.kind, case.language, place % 4 > 1, case.text, case.branches, case.expect)
        for place, case in enumerate(document.cases)
    ]


def _draw(name: str, drawn: _Graph) -> Graph:
    nodes: list[JsonValue] = [
        {"id": node_id, "type": kind, "data": {"label": label, "description": description}}
        for node_id, kind, label, description in drawn.nodes
    ]
    edges: list[JsonValue] = []
    for place, edge in enumerate(drawn.edges):
        source, _, target = edge.partition(">")
        edges.append({"id": f"e{place}", "source": source, "target": target})
    graph, faults = read_graph({"nodes": nodes, "edges": edges})
    assert not faults, f"the drawing {name!r} of the cases has faults: {faults}"
    return graph


def _walk(graph: Graph, case: _Planner) -> Chain:
    """Make the chain of visits up to the one after which the planner is asked, each step as if it had been decided."""
    visits: list[Visit] = []
    for place, told in enumerate(case.visits):
        node = graph.nodes[NodeId(told.node)]
        decision: Decision | None = None
        if visits:
            drawn = graph.is_drawn(visits[-1].node_id, node.id, visits[-1].handle)
            decision = Decision(next=node.id, reason="", source="planner", on_canvas=drawn)
        begun = Chain(graph, case.inputs, visits).next_visit(
            node, decision, visit_id=VisitId(f"visit-{place}"), now=_WHEN
        )
        visits.append(
            replace(
                begun,
                status=StepStatus.FAILED if told.error else StepStatus.SUCCESS,
                handle=None if told.error else OUTPUT,
                error=ErrorInfo("EGRESS_LIMIT", told.error, node.id) if told.error else None,
                envelope=None if told.error else _envelope(node.id, node.type, told, case.inputs),
                attempts=1,
            )
        )
    return Chain(graph, case.inputs, visits)


def _envelope(node_id: NodeId, node_type: str, told: _Visit, inputs: Mapping[str, JsonValue]) -> Envelope:
    data: Mapping[str, JsonValue] = told.data if told.text is None else {"text": told.text}
    if node_type == "userInput":
        data = inputs
    return Envelope(node_id, node_type, data, signals=told.signals)
