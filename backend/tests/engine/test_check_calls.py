"""What nodes call is checked before a run: that it is there, gets what it needs, and does not come back to itself."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from flyback.domain.errors import Fault
from flyback.domain.graph import Graph
from flyback.domain.graph_file import read_document
from flyback.domain.run import Mode, WorkflowId
from flyback.engine.check import Checked, check
from flyback.engine.check_calls import Callees
from flyback.engine.ports import FoundWorkflow
from kit.drawing import draw


def _calling(**data: JsonValue) -> Graph:
    return draw("ask -> inner -> out", inner={"type": "workflow", **data})


def _saved(name: str, graph: Graph) -> FoundWorkflow:
    return FoundWorkflow(read_document({"name": name, "graphData": dict(graph.document)}), WorkflowId(name))


def _found(graph: Graph, callees: Callees | None = None, *, own: str | None = None) -> Checked:
    return check(dict(graph.document), Mode.DAG, callees=callees, workflow_id=WorkflowId(own) if own else None)


CITY = draw("ask -> out", ask={"variables": [{"name": "city", "required": True}, {"name": "unit"}]})


def test_a_workflow_that_is_not_there_is_an_error_where_it_was_looked_for() -> None:
    graph = _calling(workflowId="w")
    assert _found(graph).valid
    gone = Fault("There is no workflow 'w'.", field="workflowId", fix="Choose one.")
    (fault,) = _found(graph, {("w", None): gone}).errors
    assert (fault.node, fault.field) == ("inner", "workflowId")
    assert "There is no workflow 'w'" in fault.message


def test_an_input_that_a_workflow_needs_and_is_not_given_is_an_error() -> None:
    found: Callees = {("w", None): _saved("Weather", CITY)}
    (fault,) = _found(_calling(workflowId="w"), found).errors
    assert fault.message == "Node 'inner' does not give 'city', which the workflow 'Weather' needs."
    assert _found(_calling(workflowId="w", inputs={"city": "{{x?}}"}), found).valid
    (warning,) = _found(_calling(workflowId="w", inputs={"city": "a", "town": "b"}), found).warnings
    assert "gives 'town'" in warning.message


def test_an_iteration_gives_its_item_without_saying_so() -> None:
    graph = draw("ask -> out", ask={"variables": [{"name": "item", "required": True}]})
    each = draw("ask -> inner -> out", inner={"type": "iteration", "workflowId": "w", "items": [1]})
    assert _found(each, {("w", None): _saved("w", graph)}).valid


def test_a_workflow_that_comes_back_to_itself_is_an_error_with_the_way() -> None:
    itself = _calling(workflowId="a")
    callees: Callees = {("a", None): _saved("a", _calling(workflowId="b")), ("b", None): _saved("b", itself)}
    (fault,) = _found(itself, {("a", None): _saved("a", itself)}, own="a").errors
    assert "inside itself: a" in fault.message
    (fault,) = _found(itself, callees).errors
    assert "a → b → a" in fault.message


def test_a_graph_in_a_node_is_checked_like_every_other() -> None:
    cyclic = draw("ask -> a -> b -> a; b -> out")
    (fault,) = _found(_calling(workflow={"graphData": dict(cyclic.document)})).errors
    assert fault.message.startswith("In the graph of node 'inner': ")
    assert fault.field == "workflow"
    (fault,) = _found(_calling(workflow={"graphData": 5})).errors
    assert "no graph file" in fault.message


@pytest.mark.parametrize("data", [{}, {"workflowId": "w", "workflow": {}}, {"workflowId": "w", "version": "newest"}])
def test_a_call_names_one_workflow_and_a_version_that_can_be(data: dict[str, JsonValue]) -> None:
    assert not _found(_calling(**data)).valid
