"""Two runs side by side: their paths aligned by node, what differs in their last workspaces, what each used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from itertools import takewhile
from typing import cast

from pydantic import JsonValue

from flyback.domain.wire import Wire
from flyback.services.actor import Actor
from flyback.services.run_views import RunViews

_DETAIL_ONLY = ("graphData", "nodes", "visits", "pauses", "defaultModel", "plannerModelId", "maxVisits")


async def compare(views: RunViews, actor: Actor, a: str, b: str) -> Wire:
    """Return two runs with their steps aligned. Raises NotFoundError for a run that is not there."""
    first, second = await views.detail(actor, a), await views.detail(actor, b)
    return {
        "a": _run(first),
        "b": _run(second),
        "steps": list(_aligned(_steps(first), _steps(second))),
        "variables": _variables(_last_workspace(first), _last_workspace(second)),
        "usage": {"a": first["usage"], "b": second["usage"]},
        "durationMs": {"a": _duration_ms(first), "b": _duration_ms(second)},
    }


def _run(detail: Wire) -> Wire:
    return {name: value for name, value in detail.items() if name not in _DETAIL_ONLY}


def _steps(detail: Wire) -> Sequence[Wire]:
    """An AGENTIC run's visits in order; of a DAG run the nodes that started, in the order they did."""
    visits = detail.get("visits")
    if visits is not None:
        return cast("Sequence[Wire]", visits)
    nodes = [node for node in cast("Sequence[Wire]", detail["nodes"]) if node["startedAt"] is not None]
    return sorted(nodes, key=lambda node: str(node["startedAt"]))


def _aligned(a: Sequence[Wire], b: Sequence[Wire]) -> Iterator[JsonValue]:
    """As far as both went the same way they stand side by side, a fork and its origin above all; then the best fit."""
    together = sum(1 for _ in takewhile(lambda pair: pair[0]["nodeId"] == pair[1]["nodeId"], zip(a, b, strict=False)))
    yield from _side_by_side(a[:together], b[:together])
    a, b = a[together:], b[together:]
    paths = [step["nodeId"] for step in a], [step["nodeId"] for step in b]
    for tag, a_from, a_to, b_from, b_to in SequenceMatcher(None, *paths, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from _side_by_side(a[a_from:a_to], b[b_from:b_to])
            continue
        for left in a[a_from:a_to]:
            yield {"relation": "only_a", "a": left, "b": None}
        for right in b[b_from:b_to]:
            yield {"relation": "only_b", "a": None, "b": right}


def _side_by_side(a: Sequence[Wire], b: Sequence[Wire]) -> Iterator[JsonValue]:
    for left, right in zip(a, b, strict=True):
        yield {"relation": "same" if _said(left) == _said(right) else "differs", "a": left, "b": right}


def _said(step: Wire) -> tuple[JsonValue, JsonValue]:
    output = cast("Mapping[str, JsonValue] | None", step["output"])
    return step["status"], output["data"] if output is not None else None


def _last_workspace(detail: Wire) -> Mapping[str, JsonValue]:
    visits = cast("Sequence[Wire] | None", detail.get("visits"))
    if visits is not None:
        return cast("Mapping[str, JsonValue]", visits[-1]["variables"]) if visits else {}
    written: dict[str, JsonValue] = {}
    for node in cast("Sequence[Wire]", detail["nodes"]):
        output = cast("Wire | None", node["output"])
        for name, value in cast("Wire", output["data"]).items() if output is not None else ():
            written[f"{node['nodeId']}__{name}"] = value
    return written


def _variables(a: Mapping[str, JsonValue], b: Mapping[str, JsonValue]) -> list[JsonValue]:
    names = [*a, *(name for name in b if name not in a)]
    return [
        {"name": name, "a": a.get(name), "b": b.get(name)}
        for name in names
        if name not in a or name not in b or a[name] != b[name]
    ]


def _duration_ms(detail: Wire) -> int | None:
    started, finished = detail["startedAt"], detail["finishedAt"]
    if not isinstance(started, str) or not isinstance(finished, str):
        return None
    return round((datetime.fromisoformat(finished) - datetime.fromisoformat(started)).total_seconds() * 1000)
