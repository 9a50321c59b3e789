"""Graphs in a line: `draw("ask -> draft -> review -> answer")`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import JsonValue

from flyback.domain.graph import Graph
from flyback.domain.graph_file import read_graph

_ARROW = re.compile(r"\s*-(?:\[([^\]]+)\]-?)?>\s*")

Data = Mapping[str, JsonValue]


def draw(chains: str, **nodes: Data) -> Graph:
    """Draw a graph from chains like `"a -> b; b -[branch-0]-> c"`.

    A node that begins a chain and has nothing before it is a `userInput`, one that nothing follows an `output`, and every
    other an `llm` that is asked for its own name. A keyword argument gives a node's data, and its type under `type`.
    """
    edges: list[JsonValue] = []
    order: dict[str, None] = {}
    has_before: set[str] = set()
    has_after: set[str] = set()
    for chain in re.split(r"[;\n]", chains):
        parts = _ARROW.split(chain.strip())
        names, handles = parts[::2], parts[1::2]
        order.update(dict.fromkeys(name for name in names if name))
        for source, handle, target in zip(names, handles, names[1:], strict=False):
            has_after.add(source)
            has_before.add(target)
            edge: JsonValue = {
                "id": f"e{len(edges) + 1}",
                "source": source,
                "target": target,
                "sourceHandle": handle or "output",
            }
            edges.append(edge)
    drawn: list[JsonValue] = []
    for name in order:
        data = dict(nodes.get(name, {}))
        kind = data.pop("type", None) or _kind(name, has_before, has_after)
        drawn.append({"id": name, "type": kind, "position": {"x": 0, "y": 0}, "data": {**_default(kind, name), **data}})
    graph, faults = read_graph({"nodes": drawn, "edges": edges})
    assert not faults, faults
    return graph


def when(variable: str, value: JsonValue) -> Data:
    """A condition that leaves by `branch-0` where a variable has this value, else by `branch-1`."""
    rule: JsonValue = {"variable": variable, "operator": "eq", "value": value}
    return {"type": "condition", "conditions": [{"type": "IF", "rules": {"match": "all", "items": [rule]}}]}


def _kind(name: str, has_before: set[str], has_after: set[str]) -> str:
    if name not in has_after:
        return "output"
    return "llm" if name in has_before else "userInput"


def _default(kind: JsonValue, name: str) -> Data:
    if kind == "llm":
        return {"userPrompt": f"Do {name}."}
    if kind == "agent" or kind == "skill":
        return {"agentId": name}
    return {}
