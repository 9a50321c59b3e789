"""The visits of a run so far, and what follows from them: the workspace, the counts, what is still asked for.

Everything here can be worked out again from the rows, so that a run goes on after a death as if nothing had happened.
The workspace after a visit is the one before it plus what the visit's node gave; there is no other way in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from flyback.domain.decision import Decision
from flyback.domain.envelope import Envelope
from flyback.domain.graph import Graph, Node, NodeId
from flyback.domain.run import StepStatus, VisitId
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace, written_by
from flyback.engine.agentic.requirements import raised_by, takes_up
from flyback.engine.nodes.context import VisitFacts

OPEN = frozenset({StepStatus.RUNNING, StepStatus.PAUSED})
"""A visit that has no outcome yet."""


class Chain:
    """Grows with a run: a visit begins, it ends, it is decided."""

    def __init__(self, graph: Graph, inputs: Mapping[str, JsonValue], visits: Sequence[Visit] = ()) -> None:
        self.graph = graph
        self.visits: list[Visit] = []
        self.workspace = Workspace.of_inputs(inputs)
        """After the last visit that ended."""
        self.envelopes: list[Envelope] = []
        """What the visits gave, in order."""
        self.requirements: list[str] = []
        """New requirements that no later visit has taken up."""
        self.same_in_a_row = 0
        """How many visits of the last visit's node ended in a row, up to it, with one and the same workspace."""
        self._counts: defaultdict[NodeId, int] = defaultdict(int)
        self._last_given: dict[NodeId, Envelope] = {}
        for visit in visits:
            self.append(visit)
            if visit.status not in OPEN:
                self._take_in(visit, self.workspace_with(visit.envelope).edited(visit.edits))

    @property
    def last(self) -> Visit:
        return self.visits[-1]

    def times_visited(self, node_id: NodeId) -> int:
        return self._counts[node_id]

    @property
    def path(self) -> list[NodeId]:
        return [visit.node_id for visit in self.visits]

    def next_visit(self, node: Node, decision: Decision | None, *, visit_id: VisitId, now: datetime) -> Visit:
        """Return the visit that follows, not yet part of the chain. Only a run's first has no decision behind it."""
        before = self.visits[-1] if self.visits else None
        return Visit(
            visit_id=visit_id,
            node_id=node.id,
            node_type=node.type,
            node_label=node.label,
            iter_seq=self._counts[node.id] + 1,
            sort_order=len(self.visits),
            from_visit_id=before.visit_id if before else None,
            from_node_id=before.node_id if before else None,
            on_canvas=decision is None or decision.on_canvas,
            started_at=now,
        )

    def append(self, visit: Visit) -> None:
        """The visit has begun."""
        self.visits.append(visit)
        self._counts[visit.node_id] += 1

    def keep(self, visit: Visit) -> None:
        """Store another state of the last visit: an attempt that failed, a decision."""
        self.visits[-1] = visit

    def workspace_with(self, envelope: Envelope | None) -> Workspace:
        """Return what the workspace is after the last visit, if this is what it gave."""
        return self.workspace if envelope is None else self.workspace.after(envelope, writer=self.visits[-1].sort_order)

    def end(self, visit: Visit, workspace: Workspace) -> None:
        """Take in the last visit as it ended, and the workspace after it."""
        self.visits[-1] = visit
        self._take_in(visit, workspace)

    def facts(self) -> VisitFacts:
        """What the last visit, which is about to run, is told."""
        visit = self.visits[-1]
        decision = self.visits[-2].decision if len(self.visits) > 1 else None
        return VisitFacts(
            number=visit.sort_order + 1,
            iter_seq=visit.iter_seq,
            reason=decision.reason if decision else "",
            from_node_id=visit.from_node_id,
            requirements=tuple(self.requirements),
            previous_output=self._last_given.get(visit.node_id),
        )

    def _take_in(self, visit: Visit, workspace: Workspace) -> None:
        before, self.workspace = self.workspace, workspace
        if visit.envelope is not None:
            self.envelopes.append(visit.envelope)
            self._last_given[visit.node_id] = visit.envelope
        self._count_in_a_row(visit, before)
        self._settle_requirements(visit)

    def _count_in_a_row(self, visit: Visit, before: Workspace) -> None:
        came_from_itself = visit.from_node_id == visit.node_id
        self.same_in_a_row = self.same_in_a_row + 1 if came_from_itself and _unchanged(visit, before) else 1

    def _settle_requirements(self, visit: Visit) -> None:
        if self.requirements and takes_up(self.graph, visit):
            self.requirements = []
        for requirement in raised_by(visit):
            if requirement not in self.requirements:
                self.requirements = [*self.requirements, requirement]


def _unchanged(visit: Visit, before: Workspace) -> bool:
    if visit.envelope is None:
        return True
    known = before.variables
    return all(key in known and known[key] == value for key, value in written_by(visit.envelope).items())
