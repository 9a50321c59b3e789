"""Workflows that ask a person at each place where one may: in a branch, in a loop, side by side, at the very start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from flyback.domain.graph import Graph
from kit.drawing import draw, when
from kit.studio import script_of

_FORM: dict[str, JsonValue] = {"type": "humanInput", "form": [{"name": "said", "required": True}]}
_ASK: dict[str, JsonValue] = {"variables": [{"name": "topic"}]}


@dataclass(frozen=True, slots=True)
class Asking:
    """A workflow, the nodes that will ask in the order they do, and what comes of it when each is told its own name."""

    document: Mapping[str, Any]
    asks: Sequence[str]
    result: str
    model_calls: int


def _asking(
    mode: str, graph: Graph, asks: Sequence[str], result: str, calls: int, route: Sequence[str] | None = None
) -> Asking:
    script = script_of(graph, route, {"draft": ["one", "two"], "beside": ["beside"]})
    document = {"name": "Asks", "mode": mode, "graphData": dict(graph.document), "script": script}
    return Asking(document, asks, result, calls)


def _branch() -> Asking:
    graph = draw(
        "ask -> draft -> check; check -[branch-0]-> form -> answer; check -[branch-1]-> other",
        ask=_ASK,
        check=when("topic", "tides"),
        form=_FORM,
        other={"type": "output", "template": "-"},
        answer={"template": "{{draft.text}} {{form.said}}"},
    )
    return _asking("DAG", graph, ["form"], "one form", 1)


def _loop() -> Asking:
    graph = draw(
        "ask -> draft -> form -> answer", ask=_ASK, form=_FORM, answer={"template": "{{draft.text}} {{form.said}}"}
    )
    route = ["draft", "form", "draft", "form", "answer"]
    return _asking("AGENTIC", graph, ["form", "form"], "two form", 7, route)


def _parallel() -> Asking:
    graph = draw(
        "ask -> left -> answer; ask -> right -> answer; ask -> beside -> answer",
        ask=_ASK,
        left=_FORM,
        right=_FORM,
        answer={"template": "{{left.said}} {{right.said}} {{beside.text}}"},
    )
    return _asking("DAG", graph, ["left", "right"], "left right beside", 1)


def _first(mode: str) -> Asking:
    graph = draw("form -> draft -> answer", form=_FORM, answer={"template": "{{form.said}} {{draft.text}}"})
    route = ["draft", "answer"] if mode == "AGENTIC" else None
    return _asking(mode, graph, ["form"], "form one", 3 if route else 1, route)


PLACES: Mapping[str, Asking] = {
    "branch": _branch(),
    "loop": _loop(),
    "parallel": _parallel(),
    "first node": _first("DAG"),
    "first node, agentic": _first("AGENTIC"),
}
