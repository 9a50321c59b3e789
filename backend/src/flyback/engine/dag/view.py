"""What each node of a DAG run sees: what its finished ancestors wrote, merged in topological order.

The same run always gives the same workspace, whatever the timing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from flyback.domain.envelope import Envelope
from flyback.domain.graph import NodeId
from flyback.domain.workspace import FROM_INPUTS, Workspace, written_by
from flyback.engine.dag.schedule import Plan

View = tuple[Workspace, Sequence[Envelope]]


class Views:
    def __init__(self, plan: Plan, inputs: Mapping[str, JsonValue]) -> None:
        self._plan = plan
        self._inputs = inputs
        self._given: dict[NodeId, tuple[Envelope, Mapping[str, JsonValue]]] = {}
        self._handed_on: dict[NodeId, View] = {}
        """The view of a node whose only successor sees just that and the node's own output."""

    def add(self, envelope: Envelope | None) -> None:
        """Take note of what a node gave."""
        if envelope is not None:
            self._given[envelope.node_id] = (envelope, written_by(envelope))

    def of(self, node_id: NodeId) -> View:
        """Return the workspace that a node sees, and the envelopes of its finished ancestors in topological order."""
        view = self._from_predecessor(node_id) or self._merged(node_id)
        if self._hands_on(node_id):
            self._handed_on[node_id] = view
        return view

    def _hands_on(self, node_id: NodeId) -> bool:
        edges = self._plan.graph.edges_from(node_id)
        return len(edges) == 1 and len(self._plan.graph.edges_into(edges[0].target)) == 1

    def _from_predecessor(self, node_id: NodeId) -> View | None:
        edges = self._plan.graph.edges_into(node_id)
        if len(edges) != 1:
            return None
        before = self._handed_on.pop(edges[0].source, None)
        if before is None:
            return None
        given = self._given.get(edges[0].source)
        if given is None:
            return before
        workspace, earlier = before
        writer = self._plan.place[edges[0].source]
        return workspace.after(given[0], writer=writer), [*earlier, given[0]]

    def _merged(self, node_id: NodeId) -> View:
        variables = dict(self._inputs)
        writers = dict.fromkeys(variables, FROM_INPUTS)
        earlier: list[Envelope] = []
        for ancestor in self._plan.ancestors_of(node_id):
            given = self._given.get(ancestor)
            if given is None:
                continue
            earlier.append(given[0])
            writer = self._plan.place[ancestor]
            for key, value in given[1].items():
                if key in variables:
                    del variables[key], writers[key]
                variables[key] = value
                writers[key] = writer
        return Workspace(variables, writers), earlier
