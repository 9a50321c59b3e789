"""The shape of a graph: starts, order, levels, cycles, whatever way it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyback.domain.graph import Edge, Graph, Node, NodeId
from flyback.domain.run import Mode
from flyback.domain.structure import (
    find_cycles,
    knots,
    levels,
    reachable,
    start_nodes,
    structural_faults,
    topological_order,
    without_notes,
)


def drawn(text: str, **types: str) -> Graph:
    """A graph from chains such as `"a -> b -> c; b -> d"`; nodes in order of appearance, llm where no type is given."""
    nodes: dict[NodeId, Node] = {}
    edges: list[Edge] = []
    for chain in text.split(";"):
        ids = [NodeId(part.strip()) for part in chain.split("->")]
        for node_id in ids:
            nodes.setdefault(node_id, Node(node_id, types.get(node_id, "llm"), {}))
        edges.extend(
            Edge(f"e{len(edges) + place}", source, target) for place, (source, target) in enumerate(pairwise(ids))
        )
    return Graph(nodes, tuple(edges), {})


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(1, 12))
    ends = st.integers(0, count - 1)
    pairs: Sequence[tuple[int, int]] = draw(st.lists(st.tuples(ends, ends), max_size=30))
    types = draw(st.lists(st.sampled_from(["llm", "llm", "userInput", "note"]), min_size=count, max_size=count))
    nodes = {NodeId(str(n)): Node(NodeId(str(n)), types[n], {}) for n in range(count)}
    edges = tuple(Edge(f"e{n}", NodeId(str(a)), NodeId(str(b))) for n, (a, b) in enumerate(pairs))
    return Graph(nodes, edges, {})


def leads_to_itself(graph: Graph, start: NodeId) -> bool:
    return start in reachable(graph, [edge.target for edge in graph.edges_from(start)])


# Order.


@given(graphs())
def test_a_node_comes_after_all_that_lead_to_it(graph: Graph) -> None:
    order = topological_order(graph)
    assert sorted(order) == sorted(node.id for node in graph.runnable)
    place = {node_id: n for n, node_id in enumerate(order)}
    on_cycles = {node_id for knot in knots(graph) for node_id in knot}
    behind = reachable(graph, on_cycles)
    for edge in without_notes(graph).edges:
        assert edge.target in behind or place[edge.source] < place[edge.target]


@given(graphs())
def test_a_node_stands_one_level_below_the_lowest_that_leads_to_it(graph: Graph) -> None:
    runs = without_notes(graph)
    level_of = {node_id: depth for depth, level in enumerate(levels(graph)) for node_id in level}
    behind = reachable(graph, [node_id for knot in knots(graph) for node_id in knot])
    assert level_of.keys() == runs.nodes.keys() - behind
    for node_id, depth in level_of.items():
        above = [level_of[edge.source] for edge in runs.edges_into(node_id)]
        assert depth == (max(above) + 1 if above else 0)


def test_ties_are_broken_by_canvas_order() -> None:
    graph = drawn("a; b; z; b -> z; a -> z; c")
    assert topological_order(graph) == ("a", "b", "z", "c")
    assert levels(graph) == [["a", "b", "c"], ["z"]]


# Cycles.


@given(graphs())
def test_cycles_are_found_exactly_where_a_node_leads_to_itself(graph: Graph) -> None:
    runs = without_notes(graph)
    on_cycles = {node_id for knot in knots(graph) for node_id in knot}
    assert on_cycles == {node_id for node_id in runs.nodes if leads_to_itself(runs, node_id)}
    for cycle in find_cycles(graph):
        assert len(set(cycle)) == len(cycle)
        for source, target in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert any(edge.target == target for edge in runs.edges_from(source))


@given(graphs())
def test_a_dag_is_refused_exactly_when_it_has_a_cycle(graph: Graph) -> None:
    refused = any(fault.field == "edges" for fault in structural_faults(graph, Mode.DAG))
    assert refused == bool(find_cycles(graph))
    assert not any(fault.field == "edges" for fault in structural_faults(graph, Mode.AGENTIC))


@pytest.mark.parametrize(
    ("drawing", "named"),
    [("in -> a -> b -> c3 -> a; c3 -> out", ["'a'", "'b'", "'c3'"]), ("in -> a -> a; a -> out", ["'a'"])],
)
def test_a_cycle_names_the_nodes_on_it(drawing: str, named: list[str]) -> None:
    graph = drawn(drawing, **{"in": "userInput", "out": "output"})
    (fault,) = structural_faults(graph, Mode.DAG)
    assert all(name in fault.message for name in named)
    assert fault.node == "a"
    assert fault.fix
    assert structural_faults(graph, Mode.AGENTIC) == []


# Starts.


def test_a_dag_starts_at_its_user_inputs_without_incoming_edges() -> None:
    graph = drawn("x -> in2 -> b; in1 -> b; free", in1="userInput", in2="userInput")
    assert start_nodes(graph, Mode.DAG) == ("in1",)


def test_a_dag_without_such_inputs_starts_at_every_node_without_incoming_edges() -> None:
    graph = drawn("x -> later; y", later="userInput")
    assert start_nodes(graph, Mode.DAG) == ("x", "y")


def test_an_agentic_run_starts_at_the_first_user_input_else_at_the_first_entry() -> None:
    graph = drawn("x -> in1; in2", in1="userInput", in2="userInput")
    assert start_nodes(graph, Mode.AGENTIC) == ("in1",)
    assert start_nodes(drawn("b -> a; c"), Mode.AGENTIC) == ("b",)


def test_what_keeps_a_graph_from_running_is_told_all_at_once() -> None:
    assert [fault.message for fault in structural_faults(Graph({}, (), {}), Mode.DAG)] == ["The graph has no nodes."]
    messages = [fault.message for fault in structural_faults(drawn("a -> b -> a"), Mode.DAG)]
    assert [message.split(":")[0].split(",")[0] for message in messages] == [
        "The graph has no start",
        "The graph has no output node",
        "These nodes form a cycle",
    ]


# Notes.


def test_the_shape_looks_through_notes() -> None:
    graph = drawn("a -> n -> m -> b; n -> c; stray -> d; m -> n", n="note", m="note", stray="note")
    runs = without_notes(graph)
    assert sorted((edge.source, edge.target) for edge in runs.edges) == [("a", "b"), ("a", "c")]
    assert start_nodes(graph, Mode.DAG) == ("a", "d")
    assert reachable(graph, [NodeId("a")]) == {"a", "b", "c"}
