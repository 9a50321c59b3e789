"""A document is read as far as it can be understood, and everything that is wrong with it is told."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.errors import InvalidError
from flyback.domain.graph_file import WorkflowDocument, read_budget, read_document, read_graph
from flyback.domain.run import Budget, Mode

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)
ids = st.sampled_from(["a", "b", "c", "", " "]) | anything
nodes = st.fixed_dictionaries(
    {},
    optional={
        "id": ids,
        "type": st.sampled_from(["llm", "note", "x"]) | anything,
        "data": anything,
        "position": anything,
    },
)
edges = st.fixed_dictionaries({}, optional={"id": ids, "source": ids, "target": ids, "sourceHandle": ids})
graphs = st.fixed_dictionaries(
    {},
    optional={
        "nodes": st.lists(nodes | anything, max_size=6) | anything,
        "edges": st.lists(edges | anything, max_size=6) | anything,
        "viewport": anything,
    },
)


def node(node_id: JsonValue, **more: JsonValue) -> JsonValue:
    return {"id": node_id, "type": "llm", "position": {"x": 1, "y": 2}, **more}


# The graph.


@given(graphs | anything)
def test_reading_a_graph_never_raises_whatever_it_holds(value: JsonValue) -> None:
    graph, faults = read_graph(value)
    assert all(edge.source in graph.nodes and edge.target in graph.nodes for edge in graph.edges)
    assert all(fault.message for fault in faults)


@given(graphs)
def test_a_graph_keeps_its_document_as_it_was_written(value: dict[str, JsonValue]) -> None:
    assert read_graph(value)[0].document == value


@given(graphs)
def test_a_graph_may_come_as_a_json_string(value: dict[str, JsonValue]) -> None:
    graph, faults = read_graph(json.dumps(value))
    plain, plain_faults = read_graph(json.loads(json.dumps(value)))
    assert (graph.nodes, graph.edges, faults) == (plain.nodes, plain.edges, plain_faults)


def test_ids_are_kept_verbatim() -> None:
    graph, faults = read_graph({"nodes": [node(" Übung/1.5 "), node("节点 一"), node("A"), node("a")]})
    assert list(graph.nodes) == [" Übung/1.5 ", "节点 一", "A", "a"]
    assert faults == []


def test_a_node_is_called_by_its_label_as_it_can_be_stored_else_by_its_id() -> None:
    graph, _ = read_graph(
        {"nodes": [node("a", data={"label": "Draft\x00"}), node("b", data={"label": " "}), node("c")]}
    )
    assert [one.label for one in graph.nodes.values()] == ["Draft\ufffd", "b", "c"]


def test_every_fault_of_form_is_told_at_once_with_its_place() -> None:
    graph, faults = read_graph(
        {
            "nodes": [
                *(node("a"), node("a"), None, node(7), node(""), {"id": "t"}),
                *(node("d", data=[]), node("x" * 129), node("l", data={"label": "x" * 201}), node("nul\x00")),
            ],
            "edges": [
                {"id": "e", "source": "a", "target": "gone"},
                {"id": "e", "target": "a"},
                {"id": "e", "source": "a", "target": "d"},
                {"id": "e", "source": "a", "target": "d"},
                {"source": "a", "target": "d", "sourceHandle": 5},
                "edge",
            ],
        }
    )
    assert list(graph.nodes) == ["a", "t", "d", "l"]
    assert [(edge.source, edge.target) for edge in graph.edges] == [("a", "d"), ("a", "d")]
    assert [(fault.node, fault.field) for fault in faults] == [
        ("a", "nodes.1.id"),
        (None, "nodes.2"),
        (None, "nodes.3.id"),
        (None, "nodes.4.id"),
        ("t", "type"),
        ("d", "data"),
        (None, "nodes.7.id"),
        ("l", "label"),
        (None, "nodes.9.id"),
        ("a", "edges.0.target"),
        ("a", "edges.1.source"),
        ("a", "edges.3.id"),
        ("a", "edges.4.sourceHandle"),
        (None, "edges.5"),
    ]


def test_a_handle_that_is_not_named_is_the_ordinary_output() -> None:
    graph, _ = read_graph(
        {
            "nodes": [node("a"), node("b")],
            "edges": [
                {"source": "a", "target": "b"},
                {"source": "a", "target": "b", "sourceHandle": None},
                {"source": "a", "target": "b", "sourceHandle": "branch-1"},
            ],
        }
    )
    assert [edge.handle for edge in graph.edges] == ["output", "output", "branch-1"]


def test_a_graph_has_at_most_2000_nodes_and_10000_edges() -> None:
    _, faults = read_graph({"nodes": [node(str(n)) for n in range(2_001)], "edges": []})
    assert [fault.message for fault in faults] == ["The graph has 2,001 nodes; at most 2,000 are allowed."]
    edge: JsonValue = {"source": "a", "target": "a"}
    edges: list[JsonValue] = [edge] * 10_001
    _, faults = read_graph({"nodes": [node("a")], "edges": edges})
    assert [fault.field for fault in faults] == ["edges"]


def test_a_graph_that_is_nested_too_deep_is_a_fault() -> None:
    deep: JsonValue = {}
    for _ in range(200):
        deep = {"x": deep}
    assert [fault.field for fault in read_graph({"nodes": [node("a", data=deep)]})[1]] == ["graphData"]
    assert len(read_graph("[" * 100_000)[1]) == 1


def test_a_hostile_graph_is_read_in_a_second() -> None:
    started = time.perf_counter()
    edges: list[JsonValue] = [{"source": "same", "target": "gone"}] * 50_000
    _, faults = read_graph({"nodes": [node("same")] * 10_000, "edges": edges})
    assert faults
    assert time.perf_counter() - started < 2


# The document.


def test_a_document_is_read_with_its_defaults() -> None:
    document = read_document({"graphData": {"nodes": [node("a")]}})
    assert document == WorkflowDocument(graph_data={"nodes": [node("a")]})
    assert (document.name, document.mode, document.budget) == ("Untitled", Mode.DAG, Budget())


@pytest.mark.parametrize(("written", "mode"), [(None, Mode.DAG), ("agentic", Mode.AGENTIC), (" Dag ", Mode.DAG)])
def test_a_mode_is_read_without_regard_to_case_and_null_means_dag(written: JsonValue, mode: Mode) -> None:
    assert read_document({"mode": written}).mode is mode


def test_unknown_keys_are_kept_and_what_the_server_owns_is_ignored() -> None:
    written: JsonValue = {
        "name": "Desk",
        "mode": "AGENTIC",
        "maxVisits": 12,
        "budget": {"tokens": 1000, "cost": 0.5},
        "plannerModelId": "glm",
        "tags": ["a"],
        "x-tool": {"keep": 1},
        "id": "1",
        "revision": 7,
        "ownerId": "someone",
        "createdAt": "2020",
    }
    document = read_document(written)
    assert document.extra == {"tags": ["a"], "x-tool": {"keep": 1}}
    assert (document.max_visits, document.budget) == (12, Budget(tokens=1000, cost=0.5))
    assert read_document(document.on_wire()) == document


def test_graph_data_may_be_a_json_string_and_a_bare_graph_is_a_document_too() -> None:
    graph: JsonValue = {"nodes": [node("a")], "edges": []}
    assert read_document({"graphData": json.dumps(graph)}).graph_data == graph
    bare = read_document({"nodes": [node("a")], "edges": [], "viewport": 1})
    assert (bare.graph_data, bare.extra) == (graph, {"viewport": 1})


def test_what_a_change_does_not_name_stays_as_it_was() -> None:
    before = read_document(
        {"name": "Desk", "mode": "AGENTIC", "maxVisits": 5, "graphData": {"nodes": [node("a")]}, "t": 1}
    )
    after = read_document({"name": "Office", "maxVisits": None}, base=before)
    assert (after.name, after.mode, after.max_visits, after.graph_data) == (
        "Office",
        Mode.AGENTIC,
        None,
        before.graph_data,
    )
    assert after.extra == {"t": 1}


def test_fields_of_the_wrong_form_are_refused_all_at_once() -> None:
    with pytest.raises(InvalidError) as refused:
        read_document(
            {
                "name": 1,
                "description": "x" * 20_001,
                "mode": "walk",
                "maxVisits": 51,
                "budget": {"tokens": -1, "tokns": 1, "cost": "much"},
                "settings": [],
                "graphData": "[",
            }
        )
    assert {fault.field for fault in refused.value.faults} == {
        "name",
        "description",
        "mode",
        "maxVisits",
        "budget.tokens",
        "budget.tokns",
        "budget.cost",
        "settings",
        "graphData",
    }


@given(anything | st.fixed_dictionaries({}, optional=dict.fromkeys(("name", "mode", "budget", "graphData"), anything)))
def test_any_document_is_read_or_refused(value: JsonValue) -> None:
    try:
        document = read_document(value)
    except InvalidError:
        return
    assert read_document(document.on_wire()) == document


def test_a_budget_is_read_alone_too() -> None:
    assert read_budget({"seconds": 1.5}) == Budget(seconds=1.5)
    assert read_budget(None) == Budget()
    with pytest.raises(InvalidError):
        read_budget({"tokens": True})
