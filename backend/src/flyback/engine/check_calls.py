"""Checks the nodes that have workflows run: whether these are there, get what they need, and do not run inside themselves.

What is saved is looked up by whoever asks for the check and handed in. Where nothing is handed in, only workflows that stand
in the graph itself are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue, ValidationError

from flyback.domain.errors import Fault, InvalidError
from flyback.domain.graph import Graph, NodeId
from flyback.domain.graph_file import WorkflowDocument, read_document, read_graph
from flyback.domain.inputs import variables_of
from flyback.domain.run import VersionChoice, WorkflowId
from flyback.domain.structure import USER_INPUT, start_nodes
from flyback.engine.called import CallingConfig
from flyback.engine.nodes.base import NodeConfig, node_types, read_config, starts_runs
from flyback.engine.nodes.context import INDEX, ITEM
from flyback.engine.ports import FoundWorkflow

_MOST_LEVELS = 9
"""One more than runs may be inside one another."""
_ITERATION = "iteration"

CallName = tuple[str, VersionChoice]
"""Id or name of a saved workflow, and the version that is called."""
Callees = Mapping[CallName, FoundWorkflow | Fault]
"""What is found under a name, or why nothing is."""


class Found(Protocol):
    """What a check found in a graph."""

    @property
    def errors(self) -> Sequence[Fault]: ...


class CheckInline(Protocol):
    def __call__(self, document: WorkflowDocument) -> Found: ...


@dataclass(frozen=True, slots=True)
class CallFaults:
    errors: Sequence[Fault]
    warnings: Sequence[Fault]


def names_called(graph_data: JsonValue) -> set[CallName]:
    """Return what a graph calls that is saved, also in the graphs that stand in its nodes. Never raises on content."""
    if not _has_calls(graph_data):
        return set()
    graph, _ = read_graph(graph_data)
    found: set[CallName] = set()
    for config in _calls(graph, _configs(graph)).values():
        if isinstance(config.called, str):
            found.add((config.called, config.chosen_version))
        elif (document := _document(config.called)) is not None:
            found |= names_called(dict(document.graph_data))
    return found


def _has_calls(graph_data: JsonValue) -> bool:
    """Whether a graph may call something: a look at its types, before it is read."""
    nodes = graph_data.get("nodes") if isinstance(graph_data, dict) else None
    kinds = {kind.type for kind in node_types().values() if kind.starts_runs}
    return isinstance(nodes, list) and any(isinstance(node, dict) and node.get("type") in kinds for node in nodes)


def call_faults(
    graph: Graph,
    configs: Mapping[NodeId, NodeConfig],
    callees: Callees | None,
    workflow_id: WorkflowId | None,
    check_inline: CheckInline,
) -> CallFaults:
    """Return what is wrong with the calls of a graph. `workflow_id` is its own, where it is saved."""
    errors: list[Fault] = []
    warnings: list[Fault] = []
    above = () if workflow_id is None else (workflow_id,)
    for node_id, config in _calls(graph, configs).items():
        if not isinstance(config.called, str):
            document = _document(config.called)
            if document is None:
                errors.append(
                    Fault(f"Node {node_id!r} holds no graph file.", node_id, "workflow", "Write {graphData: …}.")
                )
                continue
            errors.extend(_inside(node_id, fault) for fault in check_inline(document).errors)
        else:
            found = None if callees is None else callees.get((config.called, config.chosen_version))
            if found is None:
                continue
            if isinstance(found, Fault):
                errors.append(Fault(f"Node {node_id!r}: {found.message}", node_id, found.field, found.fix))
                continue
            document = found.document
            if (ring := _ring(found, callees or {}, above)) is not None:
                message = f"Node {node_id!r} lets a workflow run inside itself: {' → '.join(ring)}."
                errors.append(Fault(message, node_id, "workflowId", "Call another workflow."))
        errors.extend(_missing(graph, node_id, config, document))
        warnings.extend(_unknown(graph, node_id, config, document))
    return CallFaults(errors, warnings)


def _ring(found: FoundWorkflow, callees: Callees, above: Sequence[WorkflowId]) -> list[str] | None:
    """Return the names on the way by which a workflow comes back to one that it is inside of; None where none does."""
    if found.workflow_id in above:
        return [found.document.name]
    if len(above) > _MOST_LEVELS:
        return None
    for name in sorted(names_called(dict(found.document.graph_data)), key=str):
        inner = callees.get(name)
        if isinstance(inner, FoundWorkflow):
            ring = _ring(inner, callees, (*above, found.workflow_id))
            if ring is not None:
                return [found.document.name, *ring]
    return None


def _missing(graph: Graph, node_id: NodeId, config: CallingConfig, document: WorkflowDocument) -> Iterator[Fault]:
    given = _given(graph, node_id, config)
    inner, _ = read_graph(dict(document.graph_data))
    for start in start_nodes(inner, document.mode):
        for variable in variables_of(inner.nodes[start]) if inner.nodes[start].type == USER_INPUT else ():
            if variable.required and variable.default is None and variable.name not in given:
                message = (
                    f"Node {node_id!r} does not give {variable.name!r}, which the workflow {document.name!r} needs."
                )
                yield Fault(message, node_id, "inputs", f"Add {variable.name!r} to its inputs.")


def _unknown(graph: Graph, node_id: NodeId, config: CallingConfig, document: WorkflowDocument) -> Iterator[Fault]:
    inner, _ = read_graph(dict(document.graph_data))
    declared = {variable.name for node in inner.of_type(USER_INPUT) for variable in variables_of(node)}
    for name in config.given:
        if declared and name not in declared and name not in _given(graph, node_id, None):
            message = f"Node {node_id!r} gives {name!r}, which the workflow {document.name!r} does not declare."
            yield Fault(message, node_id, "inputs", f"It declares {', '.join(sorted(declared))}.")


def _given(graph: Graph, node_id: NodeId, config: CallingConfig | None) -> set[str]:
    named = set(config.given) if config is not None else set[str]()
    return named | {ITEM, INDEX} if graph.nodes[node_id].type == _ITERATION else named


def _inside(node_id: NodeId, fault: Fault) -> Fault:
    return Fault(f"In the graph of node {node_id!r}: {fault.message}", node_id, "workflow", fault.fix)


def _calls(graph: Graph, configs: Mapping[NodeId, NodeConfig]) -> Mapping[NodeId, CallingConfig]:
    return {
        node_id: config
        for node_id, config in configs.items()
        if isinstance(config, CallingConfig) and starts_runs(graph.nodes[node_id])
    }


def _configs(graph: Graph) -> Mapping[NodeId, NodeConfig]:
    configs: dict[NodeId, NodeConfig] = {}
    for node in graph.runnable:
        if not starts_runs(node):
            continue
        try:
            configs[node.id] = read_config(node)
        except ValidationError:
            continue
    return configs


def _document(written: Mapping[str, JsonValue]) -> WorkflowDocument | None:
    try:
        return read_document(dict(written))
    except InvalidError:
        return None
