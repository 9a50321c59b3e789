"""Which nodes of a DAG run may start, and which are skipped.

A node is ready as soon as every edge into it is settled, and runs if at least one of them is active: its source activated
the handle by which the edge leaves. Otherwise it is skipped, and that goes on. Notes are no nodes here: what leads
through one leads on. Nothing in this module waits, calls or writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

from flyback.domain.graph import Graph, Node, NodeId
from flyback.domain.run import Mode
from flyback.domain.structure import reachable, start_nodes, topological_order, without_notes

Fate = Literal["ready", "skipped"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What the drawing alone tells, worked out once a driven segment."""

    graph: Graph
    """Without notes."""
    order: Sequence[NodeId]
    """Topological, ties in canvas order."""
    place: Mapping[NodeId, int]
    """Each node's place in that order."""
    starts: frozenset[NodeId]
    ancestors: Mapping[NodeId, int]
    """Bit n is set where the node at place n leads here."""

    @classmethod
    def of(cls, graph: Graph) -> Plan:
        drawn = without_notes(graph)
        order = topological_order(drawn)
        place = {node_id: n for n, node_id in enumerate(order)}
        ancestors: dict[NodeId, int] = {}
        for node_id in order:
            bits = 0
            for edge in drawn.edges_into(node_id):
                bits |= ancestors[edge.source] | 1 << place[edge.source]
            ancestors[node_id] = bits
        return cls(drawn, order, place, frozenset(start_nodes(drawn, Mode.DAG)), ancestors)

    def node(self, node_id: NodeId) -> Node:
        return self.graph.nodes[node_id]

    def ancestors_of(self, node_id: NodeId) -> Iterator[NodeId]:
        """Every node that leads here, in topological order."""
        bits = self.ancestors[node_id]
        while bits:
            lowest = bits & -bits
            yield self.order[lowest.bit_length() - 1]
            bits ^= lowest

    def in_order(self, node_ids: Iterable[NodeId]) -> list[NodeId]:
        return sorted(node_ids, key=self.place.__getitem__)


class Progress:
    """How far a run has come: which edges are settled, and what follows from that."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._open = {node_id: len(plan.graph.edges_into(node_id)) for node_id in plan.order}
        self._active: set[NodeId] = set()
        self._settled: set[NodeId] = set()

    def begin(self) -> dict[NodeId, Fate]:
        """Return what follows from the drawing before anything ran: the starts are ready, what they cannot reach is skipped.

        In topological order, like every answer here.
        """
        plan = self._plan
        within = reachable(plan.graph, plan.starts)
        fates: dict[NodeId, Fate] = {}
        unreached: list[NodeId] = []
        for node_id in plan.order:
            if node_id in plan.starts:
                fates[node_id] = "ready"
            elif node_id not in within:
                fates[node_id] = "skipped"
                unreached.append(node_id)
        fates.update(self._follow((node_id, None) for node_id in unreached))
        return {node_id: fates[node_id] for node_id in plan.in_order(fates)}

    def settle(self, node_id: NodeId, handle: str | None) -> dict[NodeId, Fate]:
        """Take note that a node ended and activated a handle (None for none); return what follows from it."""
        return self._follow([(node_id, handle)])

    def _follow(self, ended: Iterable[tuple[NodeId, str | None]]) -> dict[NodeId, Fate]:
        """Settle the edges out of each node, and go on from those that are skipped by it."""
        place, graph = self._plan.place, self._plan.graph
        fates: dict[NodeId, Fate] = {}
        waiting: list[tuple[int, NodeId, str | None]] = []
        for node_id, handle in ended:
            heappush(waiting, (place[node_id], node_id, handle))
        while waiting:
            _, node_id, handle = heappop(waiting)
            if node_id in self._settled:
                continue
            self._settled.add(node_id)
            for edge in graph.edges_from(node_id):
                target = edge.target
                self._open[target] -= 1
                if edge.handle == handle:
                    self._active.add(target)
                if self._open[target] or target in self._settled:
                    continue
                if target in self._active:
                    fates[target] = "ready"
                else:
                    fates[target] = "skipped"
                    heappush(waiting, (place[target], target, None))
        return {node_id: fates[node_id] for node_id in self._plan.in_order(fates)}


def live_predecessors(plan: Plan, node_id: NodeId, handles: Mapping[NodeId, str | None]) -> list[NodeId]:
    """Return the nodes from which an active edge leads here, looking through conditions, in topological order.

    `handles` tells of each node that ended which handle it activated.
    """
    found: set[NodeId] = set()
    seen: set[NodeId] = {node_id}
    waiting = [node_id]
    while waiting:
        for edge in plan.graph.edges_into(waiting.pop()):
            source = edge.source
            if handles.get(source) != edge.handle or source in seen:
                continue
            seen.add(source)
            if plan.node(source).type == "condition":
                waiting.append(source)
            else:
                found.add(source)
    return plan.in_order(found)
