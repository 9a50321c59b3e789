"""New requirements: who raises them, and which visit takes them up.

An agent ends with the wishes that it heard and did not fulfil (`signals.newRequirements`). They are open for the visits
after it, until one that was told of them has succeeded. Told are agents, skills and smart actions, always; any node whose
own templates ask for `{{visit.requirements}}`; and an llm node that is visited again and whose prompts ask for nothing of
`{{visit.…}}`, unless that was switched off.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from flyback.domain.graph import Graph, Node
from flyback.domain.run import StepStatus
from flyback.domain.template import Reference, references
from flyback.domain.visit import Visit
from flyback.engine.shown import as_text

NEW_REQUIREMENTS = "newRequirements"
"""The signal that holds them, a list of texts."""

_ALWAYS_TOLD = frozenset({"agent", "skill", "smartAction"})


def raised_by(visit: Visit) -> list[str]:
    """Return the new requirements that a visit raised."""
    if visit.envelope is None:
        return []
    listed = visit.envelope.signals.get(NEW_REQUIREMENTS)
    texts = [as_text(item).strip() for item in listed] if isinstance(listed, list) else []
    return [text for text in texts if text]


def takes_up(graph: Graph, visit: Visit) -> bool:
    """Whether a visit has taken up the requirements that were open when it began."""
    return visit.status is StepStatus.SUCCESS and _was_told(graph.nodes.get(visit.node_id), visit)


def _was_told(node: Node | None, visit: Visit) -> bool:
    """`node` is None where a fork's graph has it no more."""
    if visit.node_type in _ALWAYS_TOLD:
        return True
    if node is None:
        return False
    asked = {
        reference.names[1] for reference in _references(node) if reference.names[0] == "visit" and reference.names[1:]
    }
    if "requirements" in asked:
        return True
    is_told_again = visit.node_type == "llm" and visit.iter_seq > 1 and node.data.get("tellRevisit") is not False
    return is_told_again and not asked


def _references(node: Node) -> Iterator[Reference]:
    for text in _texts(dict(node.data)):
        yield from references(text)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
