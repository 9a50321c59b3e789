"""Inputs are converted to what is declared or refused by name; a run starts only when its start need not ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.errors import InputInvalidError
from flyback.domain.graph import Graph, Node, NodeId
from flyback.domain.graph_file import read_graph
from flyback.domain.inputs import (
    declared_faults,
    read_declared,
    read_inputs,
    read_queued_inputs,
    read_variables,
)
from flyback.domain.json_value import dumps, loads_strict
from flyback.domain.run import Mode


def graph_of(*declared: JsonValue, later: list[JsonValue] | None = None) -> Graph:
    """A userInput node `ask`, and behind it one called `later`."""
    graph, faults = read_graph(
        {
            "nodes": [
                {"id": "ask", "type": "userInput", "data": {"variables": list(declared)}},
                {"id": "work", "type": "llm"},
                {"id": "later", "type": "userInput", "data": {"variables": later or []}},
            ],
            "edges": [{"source": "ask", "target": "work"}, {"source": "work", "target": "later"}],
        }
    )
    assert faults == []
    return graph


def read(value: JsonValue, **declared: JsonValue) -> JsonValue:
    """The value that one variable gets, or the text of what is wrong."""
    result = read_variables(read_declared([{"name": "v", **declared}]), {"v": value})
    return result.values["v"] if "v" in result.values else (result.faults[0].message if result.faults else "missing")


@pytest.mark.parametrize(
    ("type_", "given_value", "value"),
    [
        ("string", "as it is", "as it is"),
        ("string", 5, "5"),
        ("text", True, "true"),
        ("number", " 2.5 ", 2.5),
        ("number", "-3", -3),
        ("number", "1e3", 1000.0),
        ("number", "123456789012345678901234567890", 123456789012345678901234567890),
        ("integer", "7", 7),
        ("integer", 7.0, 7),
        ("boolean", "Yes", True),
        ("boolean", "0", False),
        ("boolean", False, False),
        ("boolean", "否", False),
        ("json", '{"a": [1]}', {"a": [1]}),
        ("json", [1], [1]),
    ],
)
def test_a_value_is_converted_to_its_declared_type(type_: str, given_value: JsonValue, value: JsonValue) -> None:
    converted = read(given_value, type=type_)
    assert (converted, type(converted)) == (value, type(value))


@pytest.mark.parametrize(
    ("type_", "given_value", "wanted"),
    [
        ("string", {"a": 1}, "a text"),
        ("number", "many", "a number"),
        ("number", "1e999", "a number"),
        ("number", True, "a number"),
        ("integer", "2.5", "a whole number"),
        ("integer", "٣", "a whole number"),
        ("boolean", "perhaps", "true or false"),
        ("json", "{a: 1}", "JSON"),
    ],
)
def test_a_value_that_cannot_be_converted_is_refused_by_name(type_: str, given_value: JsonValue, wanted: str) -> None:
    message = read(given_value, type=type_)
    assert isinstance(message, str)
    assert message.startswith("'v' is ")
    assert message.endswith(f"must be {wanted}.")


def test_a_choice_must_be_one_of_the_options() -> None:
    options: JsonValue = ["red", {"label": "Blue", "value": 2}, 3]
    assert [read(said, type="select", options=options) for said in ("red", 2, "2", "Blue", "3")] == ["red", 2, 2, 2, 3]
    assert read("green", type="select", options=options) == "'v' is 'green', but must be one of 'red', '2', '3'."


def test_required_is_false_by_default_and_what_is_not_given_is_empty() -> None:
    assert read(None) == ""
    assert read(None, type="number") is None
    assert read("  ", type="integer") is None
    assert read(None, required=True) == "missing"
    assert read("", required=True) == "missing"
    assert read(None, required=True, default="d") == "d"
    assert read(None, type="integer", default="4") == 4


@given(st.integers())
def test_an_integer_of_any_size_is_read_exactly_from_its_text(number: int) -> None:
    assert read(str(number), type="integer") == number


@given(
    st.sampled_from(["string", "text", "number", "integer", "boolean", "select", "json", "other"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3),
    ),
    st.booleans(),
)
def test_any_value_is_converted_missing_or_refused(type_: str, value: JsonValue, required: bool) -> None:
    result = read_variables(read_declared([{"name": "v", "type": type_, "required": required}]), {"v": value})
    assert len(result.values) + len(result.missing) + len(result.faults) == 1
    dumps(dict(result.values))


# The inputs of a run.


def test_a_run_whose_start_would_have_to_ask_is_refused_with_each_name() -> None:
    graph = graph_of(
        {"name": "city", "required": True},
        {"name": "day", "required": True},
        {"name": "n", "type": "integer"},
        {"name": "o"},
    )
    with pytest.raises(InputInvalidError) as refused:
        read_inputs(graph, Mode.DAG, {"n": "few", "a.b": 1, "c__d": 2})
    assert {(fault.node, fault.field) for fault in refused.value.faults} == {
        ("ask", "city"),
        ("ask", "day"),
        ("ask", "n"),
        (None, "a.b"),
        (None, "c__d"),
    }
    assert all(fault.fix for fault in refused.value.faults)


def test_a_later_node_may_ask_so_that_what_it_lacks_stops_no_run() -> None:
    graph = graph_of({"name": "q"}, later=[{"name": "wish", "required": True}, {"name": "n", "type": "integer"}])
    assert read_inputs(graph, Mode.DAG, {"n": "3"}).values == {"n": 3}


def test_a_start_for_which_an_answer_is_queued_need_not_ask() -> None:
    graph = graph_of({"name": "q", "required": True})
    assert read_inputs(graph, Mode.AGENTIC, {}, queued={"ask"}).values == {}


def test_defaults_of_the_start_are_inputs_too() -> None:
    graph = graph_of({"name": "n", "type": "integer", "default": "3"}, later=[{"name": "m", "default": "x"}])
    assert read_inputs(graph, Mode.DAG, {}).values == {"n": 3}


def test_undeclared_inputs_are_kept_with_a_warning() -> None:
    read_in = read_inputs(graph_of({"name": "q"}), Mode.DAG, {"q": "a", "tone": ["calm"]})
    assert read_in.values == {"q": "a", "tone": ["calm"]}
    assert [warning.field for warning in read_in.warnings] == ["tone"]


def test_nul_in_inputs_becomes_visible() -> None:
    assert read_inputs(graph_of({"name": "q"}), Mode.DAG, {"q": "a\x00b", "o": ["\x00"]}).values == {
        "q": "a\ufffdb",
        "o": ["\ufffd"],
    }


# Queued inputs.


def test_queued_inputs_are_checked_like_inputs() -> None:
    graph = graph_of(later=[{"name": "n", "type": "integer", "required": True}, {"name": "o"}])
    read_in = read_queued_inputs(graph, {"later": [{"n": "1"}, {"n": 2, "extra": True}]})
    assert read_in.entries == {"later": ({"n": 1, "o": ""}, {"n": 2, "o": "", "extra": True})}
    assert [(warning.node, warning.field) for warning in read_in.warnings] == [("later", "extra")]
    assert read_queued_inputs(graph, None).entries == {}
    assert read_queued_inputs(graph, {"later": []}).entries == {}


@pytest.mark.parametrize(
    "queued", ["[]", '{"work": [{}]}', '{"gone": [{}]}', '{"later": {}}', '{"later": [1]}', '{"later": [{}]}']
)
def test_queued_inputs_of_another_form_are_refused(queued: str) -> None:
    with pytest.raises(InputInvalidError):
        read_queued_inputs(graph_of(later=[{"name": "n", "required": True}]), loads_strict(queued))


# Declarations.


def test_declarations_are_checked_before_a_run() -> None:
    node = Node(
        NodeId("ask"),
        "userInput",
        {
            "variables": [
                {"name": "q"},
                {"name": "q"},
                {"name": "a__b"},
                {"label": "no name"},
                {"name": "t", "type": "date"},
                {"name": "s", "type": "select"},
                {"name": "n", "type": "integer", "default": "x", "required": True},
            ]
        },
    )
    assert [fault.field for fault in declared_faults(node)] == [
        "variables.1.name",
        "variables.2.name",
        "variables.3.name",
        "variables.4.type",
        "variables.5.options",
        "variables.6.default",
    ]
