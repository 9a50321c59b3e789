"""Reading what a person or another program wrote: a workflow document, and the graph in it.

A draft may be faulty and is kept all the same, so reading a graph never raises: it gives the graph as far as it can be
understood, and every fault. Ids are kept verbatim, keys that we do not know are kept, and what belongs to the server
(ids, owners, revisions, times) is not read from a document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from flyback.domain.errors import BadJsonError, Fault, InvalidError
from flyback.domain.graph import OUTPUT, Edge, Graph, Node, NodeId
from flyback.domain.json_value import MAX_DEPTH, dumps, is_deeper, loads_strict, mend_text
from flyback.domain.run import Budget, Mode
from flyback.domain.structure import MAX_EDGES

MAX_NODES = 2_000
MAX_LABEL = 200
MAX_ID = 128
MAX_NAME = 200
MAX_DESCRIPTION = 20_000
MAX_VISITS = 50
"""Visits of a run: a hard ceiling; a workflow may set less."""

_READ_BEYOND = 8
"""How many times the limit of nodes or edges is read, so that faults are told of graphs that are too large, too."""

UNTITLED = "Untitled"

_SERVER_OWNED = frozenset({"id", "ownerId", "owner", "revision", "version", "status"}) | frozenset(
    {"createdAt", "updatedAt", "deletedAt", "publishedAt"}
)
_KNOWN = frozenset(
    {"name", "description", "mode", "plannerModelId", "maxVisits", "budget", "settings", "script", "graphData"}
)
_MODES_FIX = "Use DAG or AGENTIC."


@dataclass(frozen=True, slots=True)
class WorkflowDocument:
    """A workflow as it is written in a file or a request."""

    name: str = UNTITLED
    description: str = ""
    mode: Mode = Mode.DAG
    planner_model_id: str | None = None
    max_visits: int | None = None
    """None means the ceiling."""
    budget: Budget = field(default_factory=Budget)
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    script: JsonValue = None
    graph_data: Mapping[str, JsonValue] = field(default_factory=lambda: {"nodes": [], "edges": []})
    extra: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Keys that we do not know, kept as they were."""

    def on_wire(self) -> dict[str, JsonValue]:
        """The document as it stands in a file; `read_document` reads it back."""
        wire: dict[str, JsonValue] = {
            "name": self.name,
            "description": self.description,
            "mode": self.mode.value,
            "plannerModelId": self.planner_model_id,
            "maxVisits": self.max_visits,
            "budget": budget_on_wire(self.budget),
            "settings": dict(self.settings),
            "graphData": dict(self.graph_data),
        }
        if self.script is not None:
            wire["script"] = self.script
        return {**self.extra, **wire}


def read_document(value: JsonValue, *, base: WorkflowDocument | None = None) -> WorkflowDocument:
    """Read a workflow document. What it does not name is taken from `base`, else from the defaults.

    `graphData` may be a JSON string; a bare graph (`nodes` and `edges` at the top) is accepted too. The graph itself is
    not checked here.

    Raises:
        InvalidError: it is no object, or has fields of the wrong form; with every such field.
    """
    if not isinstance(value, dict):
        raise InvalidError(
            "A workflow is a JSON object.", fix="Send {name, mode, graphData: {nodes: […], edges: […]}}."
        )
    before = base or WorkflowDocument()
    reader = _Reader(value)
    document = WorkflowDocument(
        name=reader.text("name", before.name, MAX_NAME).strip() or UNTITLED,
        description=reader.text("description", before.description, MAX_DESCRIPTION),
        mode=reader.mode(before.mode),
        planner_model_id=reader.text("plannerModelId", before.planner_model_id or "", MAX_NAME).strip() or None,
        max_visits=reader.max_visits(before.max_visits),
        budget=reader.budget(before.budget),
        settings=reader.mapping("settings", before.settings),
        script=value.get("script", before.script),
        graph_data=reader.graph_data(before.graph_data),
        extra={**before.extra, **reader.extra()},
    )
    if reader.faults:
        raise InvalidError(reader.faults[0].message, field=reader.faults[0].field, faults=reader.faults)
    return document


def read_budget(value: JsonValue) -> Budget:
    """Read `{tokens?, seconds?, cost?}`; null is no limit. Raises InvalidError."""
    reader = _Reader({"budget": value})
    budget = reader.budget(Budget())
    if reader.faults:
        raise InvalidError(reader.faults[0].message, field=reader.faults[0].field, faults=reader.faults)
    return budget


def budget_on_wire(budget: Budget) -> JsonValue:
    limits: Mapping[str, JsonValue] = {"tokens": budget.tokens, "seconds": budget.seconds, "cost": budget.cost}
    return {name: limit for name, limit in limits.items() if limit is not None} or None


def read_graph(graph_data: JsonValue) -> tuple[Graph, list[Fault]]:
    """Read a graph as far as it can be understood, and say everything that is wrong with its form.

    Of nodes with the same id the first counts; edges that hang in the air are left out. Never raises on content.
    """
    if isinstance(graph_data, str):
        try:
            graph_data = loads_strict(graph_data)
        except BadJsonError as error:
            return Graph({}, (), {}), [Fault(f"graphData is a string that is not JSON: {error}", field="graphData")]
    if not isinstance(graph_data, dict):
        fix = "Send graphData: {nodes: […], edges: […]}."
        return Graph({}, (), {}), [Fault("graphData is not an object.", field="graphData", fix=fix)]
    if is_deeper(graph_data, MAX_DEPTH):
        return Graph({}, (), {}), [Fault(f"The graph is nested deeper than {MAX_DEPTH} levels.", field="graphData")]
    faults: list[Fault] = []
    nodes = _read_nodes(graph_data.get("nodes"), faults)
    edges = _read_edges(graph_data.get("edges"), nodes, faults)
    return Graph(nodes, edges, graph_data), faults


def shown(value: object) -> str:
    """Return a value as a message quotes it: a text with quotes, a list or an object by name, cut where it is long."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value) if isinstance(value, str) else dumps(value)
    return text if len(text) <= 120 else f"{text[:100]}…"


# A document's fields.


class _Reader:
    """Reads the fields of one document and gathers what is wrong."""

    def __init__(self, value: Mapping[str, JsonValue]) -> None:
        self._value = value
        self.faults: list[Fault] = []

    def text(self, name: str, default: str, limit: int) -> str:
        if name not in self._value:
            return default
        value = self._value[name]
        if value is None:
            return ""
        if not isinstance(value, str):
            self._fault(name, f"{name} is {shown(value)}, but must be a text.")
            return default
        if len(value) > limit:
            self._fault(name, f"{name} has {len(value):,} characters; at most {limit:,} are allowed.")
        return mend_text(value)

    def mode(self, default: Mode) -> Mode:
        if "mode" not in self._value:
            return default
        value = self._value["mode"]
        try:
            if value is None or isinstance(value, str):
                return Mode.read(value)
        except ValueError:
            pass
        self._fault("mode", f"The mode {shown(value)} is not known.", _MODES_FIX)
        return default

    def max_visits(self, default: int | None) -> int | None:
        value = self._value.get("maxVisits", default)
        whole = _whole_number(value)
        if value is None or (whole is not None and 1 <= whole <= MAX_VISITS):
            return whole
        fix = f"Give a whole number from 1 to {MAX_VISITS}, or null for {MAX_VISITS}."
        self._fault("maxVisits", f"maxVisits is {shown(value)}, but must lie between 1 and {MAX_VISITS}.", fix)
        return default

    def budget(self, default: Budget) -> Budget:
        if "budget" not in self._value:
            return default
        value = self._value["budget"]
        if value is None:
            return Budget()
        if not isinstance(value, dict):
            self._fault("budget", f"The budget is {shown(value)}, but must be an object.", _BUDGET_FIX)
            return default
        for name in value.keys() - {"tokens", "seconds", "cost"}:
            self._fault(f"budget.{name}", f"The budget has no limit {shown(name)}.", _BUDGET_FIX)
        tokens = self._limit(value, "tokens")
        return Budget(
            tokens=None if tokens is None else int(tokens),
            seconds=self._limit(value, "seconds"),
            cost=self._limit(value, "cost"),
        )

    def _limit(self, budget: Mapping[str, JsonValue], name: str) -> int | float | None:
        value = budget.get(name)
        if value is None:
            return None
        number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        if number is None or not 0 < number < 1e15 or (name == "tokens" and _whole_number(number) is None):
            what = "a whole number above 0" if name == "tokens" else "a number above 0"
            self._fault(f"budget.{name}", f"The budget's {name} is {shown(value)}, but must be {what}.", _BUDGET_FIX)
            return None
        return number

    def mapping(self, name: str, default: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        if name not in self._value:
            return default
        value = self._value[name]
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        self._fault(name, f"{name} is {shown(value)}, but must be an object.")
        return default

    def graph_data(self, default: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        value = self._value.get("graphData")
        if isinstance(value, str):
            try:
                value = loads_strict(value)
            except BadJsonError as error:
                self._fault("graphData", f"graphData is a string that is not JSON: {error}")
                return default
        if isinstance(value, dict):
            return value
        if value is not None:
            self._fault("graphData", "graphData is not an object.", "Send graphData: {nodes: […], edges: […]}.")
        elif self._is_bare_graph():
            return {"nodes": self._value["nodes"], "edges": self._value.get("edges", [])}
        return default

    def extra(self) -> Mapping[str, JsonValue]:
        left_out = _KNOWN | _SERVER_OWNED
        if self._is_bare_graph():
            left_out |= {"nodes", "edges"}
        return {name: value for name, value in self._value.items() if name not in left_out}

    def _is_bare_graph(self) -> bool:
        return self._value.get("graphData") is None and isinstance(self._value.get("nodes"), list)

    def _fault(self, name: str, message: str, fix: str | None = None) -> None:
        self.faults.append(Fault(message, field=name, fix=fix))


_BUDGET_FIX = "A budget is {tokens?, seconds?, cost?}; leave a limit out for none."


def _whole_number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


# A graph's nodes and edges.


def _read_nodes(value: JsonValue, faults: list[Fault]) -> dict[NodeId, Node]:
    nodes: dict[NodeId, Node] = {}
    told: set[str] = set()
    items = _items(value, "nodes", MAX_NODES, faults)
    for place, item in enumerate(items):
        node = _read_node(item, f"nodes.{place}", faults)
        if node is None:
            continue
        if node.id not in nodes:
            nodes[node.id] = node
        elif node.id not in told:
            told.add(node.id)
            fix = "Give each node its own id."
            faults.append(Fault(f"Two nodes have the id {shown(node.id)}.", node.id, f"nodes.{place}.id", fix))
    return nodes


def _read_node(item: JsonValue, at: str, faults: list[Fault]) -> Node | None:
    if not isinstance(item, dict):
        faults.append(Fault(f"{at} is {shown(item)}, but a node is an object.", field=at))
        return None
    node_id = _read_id(item.get("id"), f"{at}.id", faults)
    if node_id is None:
        return None
    node_type = item.get("type")
    if not isinstance(node_type, str) or not node_type:
        message = f"Node {shown(node_id)} has no type." if node_type is None else f"{shown(node_type)} is no node type."
        faults.append(Fault(message, node_id, "type", "Give the node one of the known types."))
        node_type = ""
    data = item.get("data")
    if data is not None and not isinstance(data, dict):
        faults.append(Fault(f"The data of node {shown(node_id)} is not an object.", node_id, "data"))
    settings = data if isinstance(data, dict) else {}
    label = settings.get("label")
    if isinstance(label, str) and len(label) > MAX_LABEL:
        message = f"The label of node {shown(node_id)} has {len(label):,} characters."
        faults.append(Fault(message, node_id, "label", f"Shorten it to {MAX_LABEL} characters."))
    return Node(NodeId(node_id), node_type, settings)


def _read_id(value: JsonValue, at: str, faults: list[Fault]) -> str | None:
    fix = f"An id is a text of 1 to {MAX_ID} characters."
    if not isinstance(value, str):
        message = f"{at} is missing." if value is None else f"{at} is {shown(value)}, but must be a text."
        faults.append(Fault(message, field=at, fix=fix))
        return None
    if not value.strip():
        faults.append(Fault(f"{at} is empty.", field=at, fix=fix))
        return None
    if len(value) > MAX_ID:
        faults.append(Fault(f"{at} has {len(value):,} characters.", field=at, fix=fix))
        return None
    if not value.isprintable() and any(ord(char) < 32 or 0xD800 <= ord(char) < 0xE000 for char in value):
        faults.append(Fault(f"{at} is {shown(value)}, with a control character.", field=at, fix="Remove it."))
        return None
    return value


def _read_edges(value: JsonValue, nodes: Mapping[NodeId, Node], faults: list[Fault]) -> tuple[Edge, ...]:
    edges: list[Edge] = []
    ids: set[str] = set()
    told: set[str] = set()
    for place, item in enumerate(_items(value, "edges", MAX_EDGES, faults)):
        edge = _read_edge(item, place, nodes, faults)
        if edge is None:
            continue
        edges.append(edge)
        if edge.id in ids and edge.id not in told:
            told.add(edge.id)
            fix = "Give each edge its own id."
            faults.append(Fault(f"Two edges have the id {shown(edge.id)}.", edge.source, f"edges.{place}.id", fix))
        ids.add(edge.id)
    return tuple(edges)


def _read_edge(item: JsonValue, place: int, nodes: Mapping[NodeId, Node], faults: list[Fault]) -> Edge | None:
    at = f"edges.{place}"
    if not isinstance(item, dict):
        faults.append(Fault(f"{at} is {shown(item)}, but an edge is an object.", field=at))
        return None
    source = _read_end(item, "source", at, nodes, faults)
    target = _read_end(item, "target", at, nodes, faults)
    handle = item.get("sourceHandle")
    if handle is not None and not isinstance(handle, str):
        message = f"{at}.sourceHandle is {shown(handle)}, but must be a text."
        faults.append(Fault(message, source, f"{at}.sourceHandle", "Leave it out for the ordinary output."))
        return None
    if source is None or target is None:
        return None
    edge_id = item.get("id")
    return Edge(edge_id if isinstance(edge_id, str) and edge_id else f"edge-{place}", source, target, handle or OUTPUT)


def _read_end(
    item: Mapping[str, JsonValue], end: str, at: str, nodes: Mapping[NodeId, Node], faults: list[Fault]
) -> NodeId | None:
    value = item.get(end)
    if isinstance(value, str) and value in nodes:
        return NodeId(value)
    other = item.get("target" if end == "source" else "source")
    node = other if isinstance(other, str) and other in nodes else None
    message = f"{at} has no {end}." if value is None else f"{at} names {shown(value)} as its {end}: no such node."
    faults.append(Fault(message, node, f"{at}.{end}", "Connect the edge to a node, or delete it."))
    return None


def _items(value: JsonValue, name: str, limit: int, faults: list[Fault]) -> Sequence[JsonValue]:
    if value is None:
        return ()
    if not isinstance(value, list):
        faults.append(Fault(f"{name} is {shown(value)}, but must be a list.", field=name))
        return ()
    items = cast("list[JsonValue]", value)
    if len(items) > limit:
        fix = "Move parts of it into workflows of their own and call them with workflow nodes."
        faults.append(
            Fault(f"The graph has {len(items):,} {name}; at most {limit:,} are allowed.", field=name, fix=fix)
        )
    return items[: _READ_BEYOND * limit]
