"""A graph as the canvas draws it: nodes and edges, in canvas order.

A graph is a value. What a person or another program wrote into it and we do not know is kept in `document`, so that a
graph can be loaded, edited and saved without losing anything. Reading and checking a document is `graph_file.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NewType

from pydantic import JsonValue

from flyback.domain.json_value import mend_text

NodeId = NewType("NodeId", str)

OUTPUT = "output"
"""The handle of an edge that names none."""


@dataclass(frozen=True, slots=True)
class Node:
    id: NodeId
    type: str
    data: Mapping[str, JsonValue]

    @property
    def label(self) -> str:
        """The person's own name for the node, as it can be stored, else its id."""
        label = self.data.get("label")
        return mend_text(label) if isinstance(label, str) and label.strip() else self.id

    @property
    def description(self) -> str:
        text = self.data.get("description")
        return text if isinstance(text, str) else ""


@dataclass(frozen=True, slots=True)
class Edge:
    id: str
    source: NodeId
    target: NodeId
    handle: str = OUTPUT


@dataclass(frozen=True)
class Graph:
    nodes: Mapping[NodeId, Node]
    edges: tuple[Edge, ...]
    document: Mapping[str, JsonValue]
    """The graph as it was read, unknown keys included: `{"nodes": [...], "edges": [...], ...}`."""

    @cached_property
    def _out(self) -> Mapping[NodeId, tuple[Edge, ...]]:
        found: defaultdict[NodeId, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            found[edge.source].append(edge)
        return {source: tuple(edges) for source, edges in found.items()}

    @cached_property
    def _in(self) -> Mapping[NodeId, tuple[Edge, ...]]:
        found: defaultdict[NodeId, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            found[edge.target].append(edge)
        return {target: tuple(edges) for target, edges in found.items()}

    @cached_property
    def order(self) -> Mapping[NodeId, int]:
        """Each node's place in canvas order."""
        return {node_id: place for place, node_id in enumerate(self.nodes)}

    @cached_property
    def by_label(self) -> Mapping[str, NodeId]:
        """Label, blanks made single, to the one node that carries it; a label that several carry is not there."""
        carriers: defaultdict[str, list[NodeId]] = defaultdict(list)
        for node in self.runnable:
            label = node.data.get("label")
            if isinstance(label, str) and label.strip():
                carriers[" ".join(label.split())].append(node.id)
        return {label: ids[0] for label, ids in carriers.items() if len(ids) == 1}

    @cached_property
    def runnable(self) -> tuple[Node, ...]:
        """Every node but notes, in canvas order."""
        return tuple(node for node in self.nodes.values() if node.type != "note")

    def edges_from(self, node_id: NodeId) -> tuple[Edge, ...]:
        """The edges that leave a node, in canvas order."""
        return self._out.get(node_id, ())

    def edges_into(self, node_id: NodeId) -> tuple[Edge, ...]:
        return self._in.get(node_id, ())

    def of_type(self, node_type: str) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes.values() if node.type == node_type)

    def is_drawn(self, source: NodeId, target: NodeId, handle: str | None) -> bool:
        """Whether an edge leads from one node to the other by an activated handle; None means none was activated."""
        return any(edge.target == target and edge.handle == handle for edge in self.edges_from(source))
