"""Checking a graph before it runs: every error and every warning at once, each with node, field and remedy.

Errors stop a run. Warnings do not: they tell what will not do what its author seems to expect. Whatever the graph holds,
checking it ends in a second and never raises.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from pydantic import JsonValue, ValidationError

from flyback.domain.errors import Fault, GraphInvalidError
from flyback.domain.graph import Graph, Node, NodeId
from flyback.domain.graph_file import MAX_NODES, WorkflowDocument, read_graph, shown
from flyback.domain.inputs import declared_faults
from flyback.domain.run import Mode, WorkflowId
from flyback.domain.script import script_faults
from flyback.domain.structure import (
    NOTE,
    USER_INPUT,
    find_cycles,
    levels,
    reachable,
    start_nodes,
    structural_faults,
    topological_order,
    without_notes,
)
from flyback.domain.template import Reference, Resolver, references
from flyback.domain.workspace import SEPARATOR, Workspace
from flyback.engine.check_calls import Callees, call_faults
from flyback.engine.nodes.base import NodeConfig, NodeType, node_types, read_config
from flyback.engine.nodes.context import INDEX, ITEM

ERROR = "error"
"""The handle, and the variable, of a failure under `failStrategy: branch`."""

_MOST_FAULTS = 200
_MOST_PARTS_OF_A_NODE = 20_000
_SEEN_IN_ITERATIONS = (ITEM, INDEX)
"""What a sub-run of an iteration is given without declaring it."""
_NUMBERED = re.compile(r"\s*+[0-9]{0,9}$")


@dataclass(frozen=True, slots=True)
class Checked:
    graph: Graph
    errors: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    levels: Sequence[Sequence[NodeId]]

    @property
    def valid(self) -> bool:
        return not self.errors


def check(
    graph_data: JsonValue,
    mode: Mode,
    *,
    script: JsonValue = None,
    callees: Callees | None = None,
    workflow_id: WorkflowId | None = None,
) -> Checked:
    """Check a graph as it is written, and the script that may come with it. Never raises on content.

    `callees` are the saved workflows that it calls; without them these calls are not looked at.
    """
    graph, errors = read_graph(graph_data)
    if graph.nodes or not errors:
        errors.extend(structural_faults(graph, mode))
    drawing = _Drawing(graph, mode)
    errors.extend(_type_faults(graph))
    warnings: list[Fault] = []
    if len(graph.nodes) <= MAX_NODES:
        told = {(fault.node, fault.field) for fault in errors}
        errors.extend(fault for fault in drawing.config_faults if (fault.node, fault.field) not in told)
        errors.extend(_handle_faults(drawing) if mode is Mode.DAG else ())
        errors.extend(_collisions(drawing))
        warnings.extend(_warnings(drawing))
        called = call_faults(graph, drawing.configs, callees, workflow_id, partial(_check_inline, callees=callees))
        errors.extend(called.errors)
        warnings.extend(called.warnings)
    if script is not None:
        errors.extend(script_faults(script))
    return Checked(graph, _capped(errors), _capped(warnings), levels(graph))


def _check_inline(document: WorkflowDocument, *, callees: Callees | None) -> Checked:
    return check(dict(document.graph_data), document.mode, script=document.script, callees=callees)


def checked_graph(
    graph_data: JsonValue,
    mode: Mode,
    *,
    script: JsonValue = None,
    callees: Callees | None = None,
    workflow_id: WorkflowId | None = None,
) -> tuple[Graph, tuple[Fault, ...]]:
    """Return a graph that can run, and its warnings. Raises GraphInvalidError with every error."""
    checked = check(graph_data, mode, script=script, callees=callees, workflow_id=workflow_id)
    if checked.valid:
        return checked.graph, checked.warnings
    first = checked.errors[0]
    message = " ".join(fault.message for fault in checked.errors[:5])
    if len(checked.errors) > 5:
        message += f" And {len(checked.errors) - 5} more."
    raise GraphInvalidError(message, node=first.node, field=first.field, fix=first.fix, faults=checked.errors)


class _Drawing:
    """A graph with what its nodes' types tell of it."""

    def __init__(self, graph: Graph, mode: Mode) -> None:
        self.graph = graph
        self.mode = mode

    @cached_property
    def _read(self) -> tuple[Mapping[NodeId, NodeConfig], Sequence[Fault]]:
        configs: dict[NodeId, NodeConfig] = {}
        faults: list[Fault] = []
        for node in self.graph.nodes.values():
            if node.type not in node_types() or len(faults) > _MOST_FAULTS:
                continue
            if _is_larger(dict(node.data), _MOST_PARTS_OF_A_NODE):
                message = f"Node {node.id!r} has more than {_MOST_PARTS_OF_A_NODE:,} settings and values."
                faults.append(Fault(message, node.id, "data", "Move large data into inputs."))
                continue
            own = declared_faults(node) if node.type == USER_INPUT else []
            try:
                configs[node.id] = read_config(node)
            except ValidationError as error:
                told = {fault.field for fault in own}
                own.extend(fault for fault in _config_faults(node, error) if fault.field not in told)
            faults.extend(own)
        return configs, faults

    @property
    def configs(self) -> Mapping[NodeId, NodeConfig]:
        """The settings of every node whose settings can be read."""
        return self._read[0]

    @property
    def config_faults(self) -> Sequence[Fault]:
        return self._read[1]

    def typed(self) -> Iterator[tuple[Node, NodeType[Any], NodeConfig]]:
        """Yield each node that runs, with its type and its settings."""
        for node_id, config in self.configs.items():
            node = self.graph.nodes[node_id]
            if node.type != NOTE:
                yield node, node_types()[node.type], config

    @cached_property
    def written(self) -> Mapping[NodeId, Sequence[str]]:
        """Node to the variables that it may write, as far as the drawing tells."""
        written: dict[NodeId, Sequence[str]] = {}
        for node, node_type, config in self.typed():
            names = list(node_type.written_names(config))
            written[node.id] = [*names, ERROR] if config.fail_strategy == "branch" else names
        return written

    @cached_property
    def open_ended(self) -> frozenset[NodeId]:
        """Nodes of which the drawing does not tell all that they write: what a skill gives is in its folder."""
        return frozenset(
            node.id
            for node in self.graph.runnable
            if node.id not in self.configs or node_types()[node.type].category == "agent"
        )

    @cached_property
    def resolver(self) -> Resolver:
        """Finds names among all that the graph could ever write."""
        variables: dict[str, JsonValue] = dict.fromkeys(_SEEN_IN_ITERATIONS)
        for node_id, names in self.written.items():
            for name in names:
                variables[node_id + SEPARATOR + name] = None
                if self.graph.nodes[node_id].type == USER_INPUT:
                    variables[name] = None
        return Resolver(self.graph, Workspace(variables, {}), None)

    @cached_property
    def names(self) -> Sequence[str]:
        """What a misspelt reference could have meant, as far as it is worth the search."""
        full = (f"{node_id}.{name}" for node_id, names in self.written.items() for name in names)
        bare = (name for names in self.written.values() for name in names)
        return list(dict.fromkeys([*full, *bare]))[:500]

    def may_run_before(self, earlier: NodeId, later: NodeId) -> bool:
        """Whether one node can have run before the other: in AGENTIC mode any, in DAG mode where a path leads there."""
        if self.mode is Mode.AGENTIC or self._ancestors is None:
            return True
        return bool(self._ancestors[later] >> self.graph.order[earlier] & 1)

    @cached_property
    def _ancestors(self) -> Mapping[NodeId, int] | None:
        """Node to the nodes that can run before it, as a set of bits by place in canvas order; None with a cycle."""
        runs = without_notes(self.graph)
        if find_cycles(runs):
            return None
        order = self.graph.order
        before: dict[NodeId, int] = {}
        for node_id in topological_order(runs):
            bits = 0
            for edge in runs.edges_into(node_id):
                bits |= before[edge.source] | (1 << order[edge.source])
            before[node_id] = bits
        return before


# Errors.


def _type_faults(graph: Graph) -> Iterator[Fault]:
    known = sorted(node_types())
    for node in graph.nodes.values():
        if not node.type or node.type in node_types():
            continue
        alike = difflib.get_close_matches(node.type[:40], known, n=1)
        fix = f"Did you mean {alike[0]!r}?" if alike else f"The known types are {', '.join(known)}."
        yield Fault(f"Node {node.id!r} has the type {shown(node.type)}, which is not known.", node.id, "type", fix)


_REASONS = {
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "string_type": "must be a text",
    "bool_type": "must be true or false",
    "extra_forbidden": "is not known here",
}
"""Pydantic's words for what a person may have done, in ours."""


def _config_faults(node: Node, error: ValidationError) -> Iterator[Fault]:
    for detail in error.errors(include_url=False, include_context=False, include_input=False)[:_MOST_FAULTS]:
        field = ".".join(str(part) for part in detail["loc"]) or "data"
        reason = _REASONS.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
        if detail["type"] == "missing":
            yield Fault(f"Node {node.id!r} lacks {field!r}.", node.id, field, f"Fill in {field!r}.")
        else:
            yield Fault(f"Node {node.id!r}, {field}: {reason.rstrip('.')}.", node.id, field, f"Correct {field!r}.")


def _handle_faults(drawing: _Drawing) -> Iterator[Fault]:
    """Yield the edges that leave by a handle that their node never activates."""
    for node, node_type, config in drawing.typed():
        known = [*node_type.handles(config)]
        for edge in drawing.graph.edges_from(node.id):
            if edge.handle not in known and edge.handle != ERROR:
                message = (
                    f"Node {node.id!r} has no handle {shown(edge.handle)}, by which an edge to {edge.target!r} leaves."
                )
                yield Fault(message, node.id, "sourceHandle", f"Its handles are {', '.join(known) or 'none'}.")


def _collisions(drawing: _Drawing) -> Iterator[Fault]:
    writers: dict[str, NodeId] = {}
    for node_id, names in drawing.written.items():
        for name in dict.fromkeys(names):
            key = node_id + SEPARATOR + name
            other = writers.setdefault(key, node_id)
            if other != node_id:
                message = f"Nodes {other!r} and {node_id!r} could both write {key!r}."
                yield Fault(message, node_id, "id", "Rename one of the two nodes, or the variable.")


# Warnings.


def _warnings(drawing: _Drawing) -> Iterator[Fault]:
    if drawing.mode is Mode.DAG:
        yield from _unreached(drawing.graph)
    else:
        yield from _handle_faults(drawing)
        yield from _unexplained(drawing)
    yield from _missing_edges(drawing)
    yield from _dangling_references(drawing)


def _unreached(graph: Graph) -> Iterator[Fault]:
    starts = start_nodes(graph, Mode.DAG)
    reached = reachable(graph, starts)
    for node in graph.runnable if starts else ():
        if node.id in reached:
            continue
        if node.type == "output":
            message = f"No path leads to the output node {node.id!r}: it will never give a result."
        else:
            message = f"No path leads from the start to node {node.id!r}: it will be skipped."
        yield Fault(message, node.id, "edges", "Connect it, or delete it.")


def _unexplained(drawing: _Drawing) -> Iterator[Fault]:
    for node, node_type, _ in drawing.typed():
        if node.description.strip():
            continue
        label = node.data.get("label")
        own = _NUMBERED.sub("", label).strip().lower() if isinstance(label, str) else ""
        if own in {"", node.type.lower(), *(title.lower() for title in node_type.title.values())}:
            message = f"Node {node.id!r} has neither a label of its own nor a description: the planner cannot know what it is for."
            yield Fault(message, node.id, "description", "Say in a sentence what it does.")


def _missing_edges(drawing: _Drawing) -> Iterator[Fault]:
    for node, node_type, config in drawing.typed():
        leaving = {edge.handle for edge in drawing.graph.edges_from(node.id)}
        if node.type == "condition" and (leaving or drawing.mode is Mode.DAG):
            otherwise = node_type.handles(config)[-1]
            if otherwise not in leaving:
                message = f"No edge leaves condition {node.id!r} by ELSE ({otherwise}): where no branch fits, nothing is chosen."
                yield Fault(message, node.id, "edges", "Draw an edge from ELSE.")
        if config.fail_strategy == "branch" and ERROR not in leaving:
            message = (
                f"Node {node.id!r} shall follow its error edge when it fails, but has none: a failure ends the run."
            )
            yield Fault(message, node.id, "failStrategy", "Draw an edge from its error handle.")
        if config.fail_strategy != "branch" and ERROR in leaving:
            message = f"An edge leaves node {node.id!r} by its error handle, but is never followed."
            yield Fault(message, node.id, "failStrategy", "Set failStrategy to branch.")


def _dangling_references(drawing: _Drawing) -> Iterator[Fault]:
    told = 0
    for node, node_type, config in drawing.typed():
        for field, text in node_type.templates(config).items():
            for reference in {reference.name: reference for reference in references(text)}.values():
                fault = None if reference.optional else _reference_fault(drawing, node, field, reference)
                if fault is not None:
                    told += 1
                    yield fault
                if told > _MOST_FAULTS:
                    return


def _reference_fault(drawing: _Drawing, node: Node, field: str, reference: Reference) -> Fault | None:
    named = drawing.resolver.node_of(reference)
    if named is not None and not drawing.may_run_before(named, node.id):
        message = f"Node {node.id!r} refers to {reference.name!r}, but node {named!r} does not run before it."
        fix = f"Connect {named!r} so that it runs before, or write {{{{{reference.name}?}}}}."
        return Fault(message, node.id, field, fix)
    if drawing.resolver.knows(reference):
        return None
    if named in drawing.open_ended if named is not None else drawing.open_ended:
        return None
    message = f"Node {node.id!r} refers to {reference.name!r}, but nothing writes it."
    alike = difflib.get_close_matches(reference.name, drawing.names, n=1, cutoff=0.75)
    fix = f"Did you mean {alike[0]!r}?" if alike else "Check how it is spelt, or declare it as an input."
    return Fault(message, node.id, field, fix)


# Helpers.


def _is_larger(value: JsonValue, limit: int) -> bool:
    left = limit
    ahead: list[JsonValue] = [value]
    while ahead:
        item = ahead.pop()
        inner: Iterable[JsonValue] = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        left -= 1
        if left < 0:
            return True
        ahead.extend(inner)
    return False


def _capped(found: Iterable[Fault]) -> tuple[Fault, ...]:
    faults = list(dict.fromkeys(found))
    if len(faults) <= _MOST_FAULTS:
        return tuple(faults)
    return (*faults[:_MOST_FAULTS], Fault(f"And {len(faults) - _MOST_FAULTS:,} more."))
