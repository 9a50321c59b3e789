"""The shape of a graph: where it starts, what it reaches, in which order, and whether it goes in circles.

Notes are drawn and never run. Everything here looks through them: an edge into a note goes on to where the note's own
edges lead, and a note's arrow to a node does not hold that node back.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from flyback.domain.errors import Fault
from flyback.domain.graph import Edge, Graph, NodeId
from flyback.domain.run import Mode

NOTE = "note"
USER_INPUT = "userInput"

MAX_EDGES = 10_000
"""Edges of a graph."""

_MOST_NAMED = 20
_MOST_ON_A_CYCLE = 100


def without_notes(graph: Graph) -> Graph:
    """Return the graph without its notes; an edge into a note goes on to where the note's edges lead.

    Once it has more than 10,000 edges no more are added; `structural_faults` refuses such a graph.
    """
    if len(graph.runnable) == len(graph.nodes):
        return graph
    edges: list[Edge] = []
    beyond: dict[NodeId, Sequence[NodeId]] = {}
    for edge in graph.edges:
        if graph.nodes[edge.source].type == NOTE or len(edges) > MAX_EDGES:
            continue
        if graph.nodes[edge.target].type != NOTE:
            edges.append(edge)
            continue
        if edge.target not in beyond:
            beyond[edge.target] = _beyond_notes(graph, edge.target)
        edges.extend(Edge(edge.id, edge.source, end, edge.handle) for end in beyond[edge.target])
    return Graph({node.id: node for node in graph.runnable}, tuple(edges), graph.document)


def start_nodes(graph: Graph, mode: Mode) -> tuple[NodeId, ...]:
    """Return where a run starts, in canvas order; in AGENTIC mode one node at most.

    DAG: the userInput nodes without incoming edges, else every node without. AGENTIC: the first userInput node, else the
    first node without incoming edges.
    """
    runs = without_notes(graph)
    inputs = [node.id for node in runs.of_type(USER_INPUT)]
    entries = [node_id for node_id in runs.nodes if not runs.edges_into(node_id)]
    if mode is Mode.AGENTIC:
        return tuple((inputs or entries)[:1])
    return tuple([node_id for node_id in inputs if not runs.edges_into(node_id)] or entries)


def reachable(graph: Graph, starts: Iterable[NodeId]) -> frozenset[NodeId]:
    """Return the nodes that the edges lead to from `starts`, these included, notes left out."""
    runs = without_notes(graph)
    seen = {start for start in starts if start in runs.nodes}
    ahead = list(seen)
    while ahead:
        for edge in runs.edges_from(ahead.pop()):
            if edge.target not in seen:
                seen.add(edge.target)
                ahead.append(edge.target)
    return frozenset(seen)


def topological_order(graph: Graph) -> tuple[NodeId, ...]:
    """Return the nodes, each after all that lead to it, ties in canvas order; what lies on or behind a cycle comes last."""
    runs = without_notes(graph)
    order = runs.order
    waiting = {node_id: len(runs.edges_into(node_id)) for node_id in runs.nodes}
    ready = [order[node_id] for node_id, count in waiting.items() if count == 0]
    ids = tuple(runs.nodes)
    sorted_ids: list[NodeId] = []
    while ready:
        node_id = ids[heapq.heappop(ready)]
        sorted_ids.append(node_id)
        for edge in runs.edges_from(node_id):
            waiting[edge.target] -= 1
            if waiting[edge.target] == 0:
                heapq.heappush(ready, order[edge.target])
    done = set(sorted_ids)
    return (*sorted_ids, *(node_id for node_id in ids if node_id not in done))


def levels(graph: Graph) -> list[list[NodeId]]:
    """Return the nodes by level, each in canvas order: a node stands one level below the lowest that leads to it.

    Nodes on a cycle or behind one have no level.
    """
    runs = without_notes(graph)
    waiting = {node_id: len(runs.edges_into(node_id)) for node_id in runs.nodes}
    level = [node_id for node_id, count in waiting.items() if count == 0]
    found: list[list[NodeId]] = []
    while level:
        found.append(level)
        ahead: list[NodeId] = []
        for node_id in level:
            for edge in runs.edges_from(node_id):
                waiting[edge.target] -= 1
                if waiting[edge.target] == 0:
                    ahead.append(edge.target)
        level = sorted(ahead, key=lambda node_id: runs.order[node_id])
    return found


def find_cycles(graph: Graph) -> list[tuple[NodeId, ...]]:
    """Return one cycle of each knot of cycles: its nodes in the order the edges lead, the first in canvas order first."""
    runs = without_notes(graph)
    return [_cycle_through(runs, knot[0], set(knot)) for knot in knots(runs)]


def knots(graph: Graph) -> list[tuple[NodeId, ...]]:
    """Return the sets of nodes that lead to one another, each in canvas order: strongly connected, or on a self loop."""
    runs = without_notes(graph)
    found: list[tuple[NodeId, ...]] = []
    for component in _components(runs):
        first = component[0]
        if len(component) > 1 or any(edge.target == first for edge in runs.edges_from(first)):
            found.append(tuple(sorted(component, key=lambda node_id: runs.order[node_id])))
    return sorted(found, key=lambda knot: runs.order[knot[0]])


def structural_faults(graph: Graph, mode: Mode) -> list[Fault]:
    """Return what keeps a graph of this shape from running in this mode: no node, no start, no output node, a cycle."""
    if not graph.runnable:
        return [Fault("The graph has no nodes.", field="nodes", fix="Add at least a start and an output node.")]
    if len(without_notes(graph).edges) > MAX_EDGES:
        message = f"The graph has more than {MAX_EDGES:,} connections, those through notes included."
        return [Fault(message, field="edges", fix="Connect nodes with each other and not through notes.")]
    faults: list[Fault] = []
    if not start_nodes(graph, mode):
        message = "The graph has no start: every node has an incoming edge."
        faults.append(Fault(message, field="nodes", fix="Add a userInput node, or remove an edge."))
    if not graph.of_type("output"):
        message = "The graph has no output node, so that a run could never give a result."
        faults.append(Fault(message, field="nodes", fix="Add a node of the type output."))
    if mode is Mode.DAG:
        faults.extend(_cycle_faults(graph))
    return faults


def named(ids: Sequence[str]) -> str:
    """Return ids as a message lists them, cut where they are many."""
    quoted = ", ".join(repr(node_id) for node_id in ids[:_MOST_NAMED])
    return quoted if len(ids) <= _MOST_NAMED else f"{quoted} and {len(ids) - _MOST_NAMED} more"


# Helpers.


def _beyond_notes(graph: Graph, note: NodeId) -> Sequence[NodeId]:
    ends: dict[NodeId, None] = {}
    seen = {note}
    ahead = deque([note])
    while ahead:
        for edge in graph.edges_from(ahead.popleft()):
            if graph.nodes[edge.target].type != NOTE:
                ends[edge.target] = None
            elif edge.target not in seen:
                seen.add(edge.target)
                ahead.append(edge.target)
    return tuple(ends)


def _cycle_faults(graph: Graph) -> Iterable[Fault]:
    fix = "Remove one of these edges, or use AGENTIC mode, where going back is the planner's choice."
    for cycle, knot in zip(find_cycles(graph), knots(graph), strict=True):
        if len(cycle) == 1:
            message = f"Node {cycle[0]!r} leads to itself, which DAG mode cannot run."
        else:
            left_out = ["…"] if len(cycle) > _MOST_ON_A_CYCLE else []
            route = " → ".join([*(repr(node_id) for node_id in cycle[:_MOST_ON_A_CYCLE]), *left_out, repr(cycle[0])])
            message = f"These nodes form a cycle, which DAG mode cannot run: {route}."
        on_it = set(cycle)
        others = [node_id for node_id in knot if node_id not in on_it]
        if others:
            message += f" On cycles with them: {named(others)}."
        yield Fault(message, node=cycle[0], field="edges", fix=fix)


def _cycle_through(graph: Graph, start: NodeId, knot: Collection[NodeId]) -> tuple[NodeId, ...]:
    """Return the shortest cycle through `start`, which lies on one."""
    came_from: dict[NodeId, NodeId] = {}
    ahead = deque([start])
    while ahead:
        node_id = ahead.popleft()
        for edge in graph.edges_from(node_id):
            if edge.target == start:
                return _walk(came_from, node_id)
            if edge.target in knot and edge.target not in came_from:
                came_from[edge.target] = node_id
                ahead.append(edge.target)
    raise AssertionError(f"{start!r} lies on no cycle")


def _walk(came_from: Mapping[NodeId, NodeId], end: NodeId) -> tuple[NodeId, ...]:
    walk = [end]
    while walk[-1] in came_from:
        walk.append(came_from[walk[-1]])
    return tuple(reversed(walk))


def _components(graph: Graph) -> Iterable[list[NodeId]]:
    """Yield the strongly connected components (Tarjan 1972, without recursion)."""
    number: dict[NodeId, int] = {}
    lowest: dict[NodeId, int] = {}
    open_nodes: list[NodeId] = []
    is_open: set[NodeId] = set()
    for root in graph.nodes:
        if root in number:
            continue
        path: list[tuple[NodeId, int]] = [(root, 0)]
        while path:
            node_id, done = path.pop()
            if done == 0:
                number[node_id] = lowest[node_id] = len(number)
                open_nodes.append(node_id)
                is_open.add(node_id)
            edges = graph.edges_from(node_id)
            descended = False
            for place in range(done, len(edges)):
                target = edges[place].target
                if target not in number:
                    path.append((node_id, place + 1))
                    path.append((target, 0))
                    descended = True
                    break
                if target in is_open:
                    lowest[node_id] = min(lowest[node_id], number[target])
            if descended:
                continue
            if path:
                parent = path[-1][0]
                lowest[parent] = min(lowest[parent], lowest[node_id])
            if lowest[node_id] == number[node_id]:
                component: list[NodeId] = []
                while not component or component[-1] != node_id:
                    component.append(open_nodes.pop())
                    is_open.discard(component[-1])
                yield component
