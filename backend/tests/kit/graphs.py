"""Graphs as hypothesis draws them."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.graph import Graph
from flyback.domain.graph_file import read_graph

_KINDS = ("llm", "template", "condition", "aggregate", "note", "output")


@st.composite
def runnable_graphs(draw: st.DrawFn, *, without: str | None = None, most_nodes: int = 9) -> Graph:
    """Draw a graph without cycles that begins at a user input and has an output node.

    Canvas order is no topological order. A condition decides by the rule "`{its id}` is yes", with two handles; an llm or
    template node may fail over to its `error` edge.
    """
    count = draw(st.integers(min_value=1, max_value=most_nodes))
    kinds = [draw(st.sampled_from([kind for kind in _KINDS if kind != without])) for _ in range(count)]
    names = ["start", *(f"n{place}" for place in range(count)), "end"]
    types = ["userInput", *kinds, "output"]
    edges: list[JsonValue] = []
    for place, name in enumerate(names[1:], start=1):
        sources = draw(st.lists(st.integers(0, place - 1), max_size=3, unique=True))
        if name == "end" and not sources:
            sources = [0]
        for source in sources:
            handle = draw(st.sampled_from(_handles(types[source])))
            edges.append({"id": f"e{len(edges)}", "source": names[source], "target": name, "sourceHandle": handle})
    canvas = draw(st.permutations(range(len(names))))
    nodes: list[JsonValue] = [
        {"id": names[place], "type": types[place], "data": dict(_data(types[place], names, place))} for place in canvas
    ]
    graph, faults = read_graph({"nodes": nodes, "edges": edges})
    assert not faults, faults
    return graph


def _handles(kind: str) -> list[str]:
    match kind:
        case "condition":
            return ["branch-0", "branch-1"]
        case "llm":
            return ["output", "output", "error"]
        case _:
            return ["output"]


def _data(kind: str, names: list[str], place: int) -> Mapping[str, JsonValue]:
    before = "".join(f"{{{{{name}.text?}}}}" for name in names[:place])
    match kind:
        case "condition":
            rule: JsonValue = {"variable": names[place], "operator": "eq", "value": "yes"}
            return {"conditions": [{"type": "IF", "rules": {"match": "all", "items": [rule]}}]}
        case "llm":
            return {"userPrompt": f"{names[place]}({before})", "failStrategy": "branch", "maxRetries": 0}
        case "template":
            return {"template": f"{names[place]}({before})"}
        case _:
            return {}
