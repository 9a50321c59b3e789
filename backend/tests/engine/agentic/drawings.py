"""Graphs in one line, and visits that have ended, for tests of the planner's rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from flyback.domain.decision import Decision
from flyback.domain.envelope import Envelope
from flyback.domain.graph import Graph, NodeId
from flyback.domain.run import ErrorInfo, StepStatus, VisitId
from flyback.domain.visit import Visit
from flyback.engine.agentic.chain import Chain
from kit.clock import NOON
from kit.drawing import Data, draw

_BETWEEN = re.compile(r"\s*(?:;|-(?:\[[^\]]+\]-)?>)\s*")


def graph_of(drawn: str, *, nodes: Mapping[str, str] | None = None, data: Mapping[str, Data] | None = None) -> Graph:
    """Draw a graph: `"a -> b; b -[branch-0]-> out"`. `nodes` gives types; `out…` is an output, the others are llm nodes."""
    types, given = dict(nodes or {}), dict(data or {})
    names = {*types, *given, *_BETWEEN.split(drawn.strip())} - {""}
    described: dict[str, Data] = {
        name: {"type": types.get(name, "output" if name.startswith("out") else "llm"), **given.get(name, {})}
        for name in names
    }
    return draw("; ".join([*types, drawn, *given]), **described)


def ended(
    graph: Graph,
    node_id: str,
    *,
    handle: str | None = "output",
    status: StepStatus = StepStatus.SUCCESS,
    data: Data | None = None,
    meta: Data | None = None,
    signals: Data | None = None,
    error: ErrorInfo | None = None,
    after: Visit | None = None,
    iter_seq: int = 1,
) -> Visit:
    """A visit that has ended; `after` is the one before it."""
    node = graph.nodes[NodeId(node_id)]
    number = after.sort_order + 1 if after else 0
    envelope = None if data is None else Envelope(node.id, node.type, data, meta or {}, signals or {})
    return Visit(
        visit_id=VisitId(f"visit-{number}"),
        node_id=node.id,
        node_type=node.type,
        node_label=node.label,
        iter_seq=iter_seq,
        sort_order=number,
        from_visit_id=after.visit_id if after else None,
        from_node_id=after.node_id if after else None,
        on_canvas=True,
        status=status,
        attempts=1,
        envelope=envelope,
        handle=handle,
        error=error,
        started_at=NOON,
        finished_at=NOON,
    )


def go(
    chain: Chain,
    node_id: str,
    data: Data | None = None,
    *,
    reason: str = "",
    status: StepStatus = StepStatus.SUCCESS,
    handle: str | None = "output",
    signals: Data | None = None,
    meta: Data | None = None,
    error: ErrorInfo | None = None,
) -> None:
    """Visit a node, and take in what it gave."""
    before = chain.visits[-1] if chain.visits else None
    decision = None
    if before is not None:
        decision = Decision(NodeId(node_id), reason, "planner", on_canvas=True)
        chain.keep(replace(before, decision=decision))
    number = len(chain.visits)
    visit = chain.next_visit(
        chain.graph.nodes[NodeId(node_id)], decision, visit_id=VisitId(f"visit-{number}"), now=NOON
    )
    chain.append(visit)
    told = ended(
        chain.graph,
        node_id,
        data=data,
        status=status,
        handle=handle,
        signals=signals,
        meta=meta,
        error=error,
        after=before,
        iter_seq=visit.iter_seq,
    )
    workspace = chain.workspace_with(told.envelope)
    chain.end(replace(told, writers=workspace.writers), workspace)
