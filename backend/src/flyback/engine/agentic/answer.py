"""What the planner answered: from text to a node and a reason, or to why the answer cannot be used.

Thinking is dropped, and of the JSON objects that remain the last one whose `next` names a node of the list counts. A name
matches exactly, else as an id without regard to case, quotes and blanks, else as a label that only one node carries.
Nothing is guessed beyond that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from flyback.domain.errors import BadJsonError
from flyback.domain.graph import NodeId
from flyback.domain.json_value import loads, mend_text
from flyback.domain.lenient_json import bare_name, objects_in
from flyback.domain.value import value_type
from flyback.engine.shown import as_text

REASON_CHARACTERS = 500


@value_type
class Answer:
    next: NodeId
    reason: str
    """At most 500 characters."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer that names no node of the list."""

    why: str
    """For the model that is asked again, and for the record."""


class Names:
    """The names by which nodes are known."""

    def __init__(self, labels: Mapping[NodeId, str]) -> None:
        """`labels`: node id to label, of every node that can be chosen."""
        self._ids = frozenset(labels)
        self._by_bare_id = _unique({node_id: bare_name(node_id) for node_id in labels})
        self._by_label = _unique({node_id: label.strip() for node_id, label in labels.items()})

    def find(self, name: str) -> NodeId | None:
        if name in self._ids:
            return NodeId(name)
        return self._by_bare_id.get(bare_name(name)) or self._by_label.get(name.strip())


def read_answer(text: str, names: Names, *, chinese: bool = False) -> Answer | Unusable:
    """Read the planner's answer."""
    strangers: list[str] = []
    for found in reversed(_objects(text)):
        if "next" not in found:
            continue
        name = as_text(found["next"])
        node_id = names.find(name)
        if node_id is not None:
            return Answer(node_id, _reason(found.get("reason")))
        strangers.append(name)
    return _unusable(text, strangers, chinese=chinese)


def _objects(text: str) -> list[dict[str, JsonValue]]:
    """Return the objects in an answer. Most answers are one exact object and nothing else, which is read at once."""
    if text.startswith("{") and "</think>" not in text:
        try:
            whole = loads(text)
        except BadJsonError:
            return objects_in(text)
        return [whole] if isinstance(whole, dict) else []
    return objects_in(text)


def _unique(names: Mapping[NodeId, str]) -> Mapping[str, NodeId]:
    """Turn the mapping around, without the names that several nodes share."""
    bearers: defaultdict[str, list[NodeId]] = defaultdict(list)
    for node_id, name in names.items():
        bearers[name].append(node_id)
    return {name: bearers[name][0] for name in bearers if name and len(bearers[name]) == 1}


def _reason(value: JsonValue) -> str:
    return "" if value is None else mend_text(as_text(value))[:REASON_CHARACTERS]


def _unusable(text: str, strangers: list[str], *, chinese: bool) -> Unusable:
    if strangers:
        name = strangers[0][:100]
        return Unusable(f"列表中没有节点 {name!r}" if chinese else f"there is no node {name!r} in the list")
    if not text.strip():
        return Unusable("回答为空" if chinese else "the answer was empty")
    wanted = '{"next": …}'
    return Unusable(f"回答中没有 {wanted} 形式的 JSON" if chinese else f"the answer holds no JSON object {wanted}")
