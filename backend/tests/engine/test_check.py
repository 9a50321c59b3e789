"""A graph is checked at once: every error and every warning, each with node, field and remedy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.errors import Fault, GraphInvalidError
from flyback.domain.run import Mode
from flyback.engine.check import check, checked_graph
from flyback.engine.nodes.base import node_types

Nodes = dict[str, tuple[str, dict[str, JsonValue]]]
"""Id to type and data."""

ASK: tuple[str, dict[str, JsonValue]] = ("userInput", {"label": "Question", "variables": [{"name": "q"}]})
OUT: tuple[str, dict[str, JsonValue]] = ("output", {"label": "Letter"})


def llm(prompt: str = "", **data: JsonValue) -> tuple[str, dict[str, JsonValue]]:
    return ("llm", {"userPrompt": prompt, "label": "Draft", **data})


def graph_data(nodes: Nodes, *edges: str) -> JsonValue:
    """Edges as `"source -> target"` or `"source:handle -> target"`."""
    drawn: list[JsonValue] = []
    for place, edge in enumerate(edges):
        source, _, target = edge.partition(" -> ")
        source, _, handle = source.partition(":")
        drawn.append({"id": f"e{place}", "source": source, "target": target, "sourceHandle": handle or None})
    return {"nodes": [{"id": id, "type": type, "data": data} for id, (type, data) in nodes.items()], "edges": drawn}


def places(faults: Sequence[Fault]) -> list[tuple[str | None, str | None]]:
    return [(fault.node, fault.field) for fault in faults]


def errors(nodes: Nodes, *edges: str, mode: Mode = Mode.DAG) -> Sequence[Fault]:
    return check(graph_data(nodes, *edges), mode).errors


def warnings(nodes: Nodes, *edges: str, mode: Mode = Mode.DAG) -> Sequence[Fault]:
    checked = check(graph_data(nodes, *edges), mode)
    assert checked.errors == ()
    return checked.warnings


CHAIN: Nodes = {"ask": ASK, "draft": llm("About {{q}}"), "out": OUT}


def test_a_sound_graph_has_neither_errors_nor_warnings_and_its_levels_are_told() -> None:
    for mode in Mode:
        checked = check(graph_data(CHAIN, "ask -> draft", "draft -> out"), mode)
        assert (checked.errors, checked.warnings) == ((), ())
        assert checked.levels == [["ask"], ["draft"], ["out"]]


# Errors.


def test_all_errors_are_told_at_once_and_stop_a_run() -> None:
    data: JsonValue = {
        "nodes": [
            {"id": "a", "type": "llm", "data": {"temperature": "hot", "maxRetries": -1}},
            {"id": "a", "type": "llm"},
            {"id": "b", "type": "lmm"},
            {"id": "s", "type": "skill"},
        ],
        "edges": [{"source": "a", "target": "a"}, {"source": "a", "target": "gone"}],
    }
    with pytest.raises(GraphInvalidError) as refused:
        checked_graph(data, Mode.DAG)
    assert places(refused.value.faults) == [
        ("a", "nodes.1.id"),
        ("a", "edges.1.target"),
        (None, "nodes"),
        ("a", "edges"),
        ("b", "type"),
        ("a", "maxRetries"),
        ("a", "temperature"),
        ("s", "agentId"),
    ]
    assert all(fault.message and fault.fix for fault in refused.value.faults)


def test_an_unknown_type_says_which_and_what_was_meant() -> None:
    (fault,) = errors({**CHAIN, "x": ("lmm", {})}, "ask -> draft", "draft -> out")
    assert fault.message == "Node 'x' has the type 'lmm', which is not known."
    assert fault.fix == "Did you mean 'llm'?"


def test_a_cycle_stops_dag_mode_and_names_its_nodes_but_not_agentic_mode() -> None:
    edges = ("ask -> draft", "draft -> draft", "draft -> out")
    (fault,) = errors(CHAIN, *edges)
    assert (fault.node, fault.field) == ("draft", "edges")
    assert errors(CHAIN, *edges, mode=Mode.AGENTIC) == ()


def test_a_graph_needs_a_start_and_an_output_node() -> None:
    assert [fault.field for fault in errors({})] == ["nodes"]
    assert [fault.message for fault in errors({"ask": ASK})] == [
        "The graph has no output node, so that a run could never give a result."
    ]


def test_two_nodes_that_could_write_the_same_key_are_an_error() -> None:
    nodes: Nodes = {
        "ask": ASK,
        "a": llm(outputs=[{"name": "b__c"}]),
        "a__b": llm(outputs=[{"name": "c"}, {"name": "d"}]),
        "out": OUT,
    }
    (fault,) = errors(nodes, "ask -> a", "a -> a__b", "a__b -> out")
    assert fault.message == "Nodes 'a' and 'a__b' could both write 'a__b__c'."


def test_an_edge_by_a_handle_that_its_node_has_not_is_an_error_that_lists_the_handles() -> None:
    nodes: Nodes = {
        **CHAIN,
        "c": ("condition", {"label": "Which", "conditions": [{"type": "IF", "expression": "it is"}]}),
    }
    edges = ("ask -> c", "c:branch-0 -> draft", "c:branch-1 -> out", "c:branch-2 -> out", "draft -> out")
    (fault,) = errors(nodes, *edges)
    assert fault.message == "Node 'c' has no handle 'branch-2', by which an edge to 'out' leaves."
    assert fault.fix == "Its handles are branch-0, branch-1."
    assert places(warnings(nodes, *edges, mode=Mode.AGENTIC)) == [("c", "sourceHandle")]


def test_a_node_says_which_of_its_settings_is_wrong() -> None:
    nodes: Nodes = {
        "ask": ("userInput", {"variables": [{"name": "a.b"}, {"name": "t", "type": "date"}, {}]}),
        "c": ("condition", {"conditions": [{"rules": {"items": [{"variable": "q", "operator": "like"}]}}, "or else"]}),
        "out": OUT,
    }
    found = {(fault.node, fault.field) for fault in errors(nodes, "ask -> c", "c:branch-1 -> out")}
    assert found == {
        ("ask", "variables.0.name"),
        ("ask", "variables.1.type"),
        ("ask", "variables.2.name"),
        ("c", "conditions.0.rules.items.0.operator"),
        ("c", "conditions.1"),
    }


def test_null_in_a_setting_is_as_good_as_not_given() -> None:
    nodes: Nodes = {**CHAIN, "draft": llm("{{q}}", model=None, systemPrompt=None, failStrategy=None, description=None)}
    assert warnings(nodes, "ask -> draft", "draft -> out") == ()


def test_a_script_that_comes_with_the_graph_is_checked_too() -> None:
    checked = check(graph_data(CHAIN, "ask -> draft", "draft -> out"), Mode.DAG, script=[{"for": "draft"}])
    assert checked.errors
    assert all((fault.field or "").startswith("script") for fault in checked.errors)


# Warnings.


def test_what_no_path_leads_to_is_a_warning_in_dag_mode() -> None:
    nodes: Nodes = {**CHAIN, "stray": llm(), "end": OUT, "remark": ("note", {"text": "hello"})}
    edges = ("ask -> draft", "draft -> out", "stray -> end")
    messages = [fault.message for fault in warnings(nodes, *edges)]
    assert messages == [
        "No path leads from the start to node 'stray': it will be skipped.",
        "No path leads to the output node 'end': it will never give a result.",
    ]
    assert warnings(nodes, *edges, mode=Mode.AGENTIC) == ()


def test_a_reference_that_nothing_writes_is_a_warning() -> None:
    prompt = "{{q}} {{ask.q}} {{Draft.text}} {{text}} {{missing}} {{ask.nope}} {{optional?}} {{visit.reason}} {{q.path}} {{.F}}"
    nodes: Nodes = {"ask": ASK, "draft": llm(), "next": llm(prompt, label="Next"), "out": OUT}
    found = warnings(nodes, "ask -> draft", "draft -> next", "next -> out")
    assert [(fault.node, fault.field, fault.message.split("'")[3]) for fault in found] == [
        ("next", "userPrompt", "missing"),
        ("next", "userPrompt", "ask.nope"),
    ]


def test_a_misspelt_reference_is_told_what_was_meant() -> None:
    nodes: Nodes = {"ask": ASK, "draft": llm(), "out": ("output", {"template": "{{draft.txt}}"})}
    (fault,) = warnings(nodes, "ask -> draft", "draft -> out")
    assert fault.fix == "Did you mean 'draft.text'?"


def test_what_a_skill_gives_is_in_its_folder_so_that_no_name_of_it_is_doubted() -> None:
    nodes: Nodes = {
        "ask": ASK,
        "s": ("skill", {"agentId": "writer", "label": "Write"}),
        "out": ("output", {"template": "{{s.title}} {{title}} {{ask.title}}"}),
    }
    assert [fault.message for fault in warnings(nodes, "ask -> s", "s -> out")] == [
        "Node 'out' refers to 'ask.title', but nothing writes it."
    ]


def test_in_dag_mode_a_reference_to_a_node_that_does_not_run_before_is_a_warning() -> None:
    nodes: Nodes = {"ask": ASK, "a": llm("{{b.text}}"), "b": llm(), "out": OUT}
    edges = ("ask -> a", "ask -> b", "a -> out", "b -> out")
    (fault,) = warnings(nodes, *edges)
    assert fault.message == "Node 'a' refers to 'b.text', but node 'b' does not run before it."
    assert warnings(nodes, *edges, mode=Mode.AGENTIC) == ()


def test_a_condition_without_an_else_edge_is_a_warning() -> None:
    nodes: Nodes = {**CHAIN, "c": ("condition", {"label": "Which", "conditions": [{"expression": "it is"}]})}
    found = warnings(nodes, "ask -> c", "c:branch-0 -> draft", "draft -> out")
    assert [(fault.node, fault.message.split(":")[0]) for fault in found] == [
        ("c", "No edge leaves condition 'c' by ELSE (branch-1)")
    ]


def test_an_error_edge_and_its_strategy_belong_together() -> None:
    alone: Nodes = {**CHAIN, "draft": llm(failStrategy="branch")}
    assert places(warnings(alone, "ask -> draft", "draft -> out")) == [("draft", "failStrategy")]
    assert places(warnings(CHAIN, "ask -> draft", "draft -> out", "draft:error -> out")) == [("draft", "failStrategy")]
    told: Nodes = {**alone, "rescue": llm("{{draft.error.message}}")}
    assert warnings(told, "ask -> draft", "draft -> out", "draft:error -> rescue", "rescue -> out") == ()


@pytest.mark.parametrize("label", [None, "", "  ", "Model", "大模型 2", "llm"])
def test_in_agentic_mode_a_node_that_does_not_say_what_it_is_for_is_a_warning(label: JsonValue) -> None:
    nodes: Nodes = {**CHAIN, "draft": llm(label=label)}
    edges = ("ask -> draft", "draft -> out")
    assert places(warnings(nodes, *edges, mode=Mode.AGENTIC)) == [("draft", "description")]
    assert warnings(nodes, *edges) == ()
    described: Nodes = {**CHAIN, "draft": llm(label=label, description="Writes a draft.")}
    assert warnings(described, *edges, mode=Mode.AGENTIC) == ()


# Whatever is sent.

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4)
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
texts = st.sampled_from(["{{a.text}}", "{{visit.reason}}", "branch"])


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects that may have these fields."""
    return st.fixed_dictionaries(dict[str, st.SearchStrategy[Any]](), optional=fields)


some_settings = objects(
    **dict.fromkeys(("label", "description", "outputs", "inputs", "userPrompt", "failStrategy"), anything | texts),
    conditions=st.lists(objects(expression=anything | texts, rules=anything), max_size=3),
    variables=st.lists(objects(name=st.sampled_from(["q", "", "a.b"]), type=anything, default=anything), max_size=3),
)
some_nodes = objects(
    id=st.sampled_from("abcd"), type=st.sampled_from([*sorted(node_types()), "unknown"]), data=some_settings | anything
)
some_edges = objects(
    source=st.sampled_from("abcd"),
    target=st.sampled_from("abcd"),
    sourceHandle=st.sampled_from(["output", "error", "branch-0"]) | anything,
)


@given(st.lists(some_nodes | anything, max_size=6), st.lists(some_edges | anything, max_size=8), st.sampled_from(Mode))
def test_any_graph_is_checked_without_raising(nodes: list[JsonValue], edges: list[JsonValue], mode: Mode) -> None:
    checked = check({"nodes": nodes, "edges": edges}, mode)
    assert checked.valid == (checked.errors == ())
    assert all(fault.message for fault in (*checked.errors, *checked.warnings))


def test_hostile_graphs_are_checked_in_a_second_and_their_faults_are_counted() -> None:
    prompt: JsonValue = {"userPrompt": "{{x}} {{1.text}} {{5.text}}"}
    ring: JsonValue = {
        "nodes": [{"id": str(n), "type": "llm", "data": prompt} for n in range(10_000)],
        "edges": [{"source": str(n), "target": str((n + 1) % 10_000)} for n in range(10_000)],
    }
    chain: JsonValue = {
        "nodes": [{"id": str(n), "type": "llm", "data": prompt} for n in range(2_000)],
        "edges": [{"source": str(n % 2_000), "target": str(n % 1_999 + 1)} for n in range(10_000)],
    }
    branches: list[JsonValue] = [None] * 500_000
    wide: JsonValue = {"nodes": [{"id": "c", "type": "condition", "data": {"conditions": branches}}], "edges": branches}
    for hostile in (ring, chain, wide):
        started = time.process_time()
        checked = check(hostile, Mode.DAG)
        assert time.process_time() - started < 2
        assert not checked.valid
        assert len(checked.errors) <= 201
        assert len(checked.warnings) <= 201
    assert check(wide, Mode.DAG).errors[-1].message.startswith("And ")


@pytest.mark.parametrize("node", ["ask", "draft", "out"])
def test_in_agentic_mode_a_node_that_says_nothing_of_itself_is_a_warning(node: str) -> None:
    kind, data = CHAIN[node]
    for label in (None, "", kind, f"{kind} 2"):
        nodes = {**CHAIN, node: (kind, {**data, "label": label or ""})}
        edges = ("ask -> draft", "draft -> out")
        assert places(warnings(nodes, *edges, mode=Mode.AGENTIC)) == [(node, "description")]
        assert warnings(nodes, *edges) == ()
        told = {**nodes, node: (kind, {**data, "label": label or "", "description": "What it is for."})}
        assert warnings(told, *edges, mode=Mode.AGENTIC) == ()


@pytest.mark.parametrize("field", ["maxTokens", "temperature", "maxRetries", "timeoutSeconds"])
def test_true_is_no_number(field: str) -> None:
    kind, data = CHAIN["draft"]
    (fault,) = errors({**CHAIN, "draft": (kind, {**data, field: True})}, "ask -> draft", "draft -> out")
    assert (fault.node, fault.field) == ("draft", field)
    assert "must be a number" in fault.message
