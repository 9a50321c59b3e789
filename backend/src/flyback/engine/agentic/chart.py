"""The drawing as the planner is shown it: what stays the same while a run goes on, made once a run.

Every node but notes is a card, whether or not an edge leads to it; the edges are a hint and no rail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from flyback.domain.graph import Edge, Graph, Node, NodeId
from flyback.domain.language import language_of
from flyback.domain.structure import without_notes
from flyback.domain.template import Reference, references
from flyback.engine.agentic.answer import Names
from flyback.engine.nodes.base import NodeConfig, node_types, read_config
from flyback.engine.ports import Skill
from flyback.engine.shown import as_text

_NO_SKILLS: Mapping[NodeId, Skill] = {}


@dataclass(frozen=True, slots=True)
class Card:
    """What the planner is told of a node."""

    node_id: NodeId
    type: str
    label: str
    description: str
    inputs: tuple[str, ...]
    """Declared inputs, each with its description where it has one."""
    outputs: tuple[str, ...]
    """Declared outputs, likewise."""


@dataclass(frozen=True, slots=True)
class Chart:
    graph: Graph
    """Without notes: an edge into one goes on to where the note's edges lead."""
    chinese: bool
    """Whether prompt and reason are in Chinese."""
    cards: Mapping[NodeId, Card]
    wanted: Mapping[NodeId, tuple[Reference, ...]]
    """Output node to the references that its templates hold, without optional ones."""
    names: Names

    @property
    def edges(self) -> tuple[Edge, ...]:
        return self.graph.edges


def draw_chart(graph: Graph, *, skills: Mapping[NodeId, Skill] = _NO_SKILLS) -> Chart:
    """Make the chart of a graph. `skills` are those that its nodes run, by node."""
    drawn = without_notes(graph)
    nodes = drawn.runnable
    return Chart(
        graph=drawn,
        chinese=language_of(graph) == "zh-CN",
        cards={node.id: _card(node, skills.get(node.id)) for node in nodes},
        wanted={node.id: _wanted(node) for node in nodes if node.type == "output"},
        names=Names({node.id: node.label for node in nodes}),
    )


def branch_meaning(node: Node, handle: str) -> str:
    """Return what a condition's branch stands for, as far as the drawing says: its expression, or empty."""
    conditions = node.data.get("conditions")
    if not isinstance(conditions, list):
        return ""
    for place, condition in enumerate(conditions):
        if handle == f"branch-{place}" and isinstance(condition, dict):
            expression = condition.get("expression")
            return one_line(expression) if isinstance(expression, str) else ""
    return "ELSE" if handle == f"branch-{len(conditions)}" else ""


def one_line(text: str) -> str:
    """Return a text with all its blanks and line ends as single blanks, so that it cannot pose as a section of a prompt."""
    return " ".join(text.split())


def _card(node: Node, skill: Skill | None) -> Card:
    config = _config(node)
    description = node.description or (skill.description if skill else "")
    return Card(
        node_id=node.id,
        type=node.type,
        label=one_line(node.label),
        description=one_line(description),
        inputs=_inputs(node, skill),
        outputs=_outputs(node, config, skill),
    )


def _config(node: Node) -> NodeConfig | None:
    """Read a node's settings; a node whose settings cannot be read can still be named to the planner."""
    if node.type not in node_types():
        return None
    try:
        return read_config(node)
    except ValidationError:
        return None


def _inputs(node: Node, skill: Skill | None) -> tuple[str, ...]:
    declared = node.data.get("inputs")
    if isinstance(declared, dict):
        return tuple(one_line(name) for name in declared)
    if isinstance(declared, list):
        return tuple(_described(item) for item in declared if isinstance(item, dict) and item.get("name"))
    if skill is not None:
        return tuple(_with_description(field.name, field.description) for field in skill.inputs)
    return ()


def _outputs(node: Node, config: NodeConfig | None, skill: Skill | None) -> tuple[str, ...]:
    for key in ("outputs", "variables"):
        declared = node.data.get(key)
        if isinstance(declared, list) and declared:
            return tuple(_described(item) for item in declared if isinstance(item, dict) and item.get("name"))
    if skill is not None and skill.outputs:
        return tuple(_with_description(field.name, field.description) for field in skill.outputs)
    if config is None:
        return ()
    return tuple(one_line(name) for name in node_types()[node.type].written_names(config))


def _described(item: Mapping[str, JsonValue]) -> str:
    description = item.get("description") or item.get("label")
    return _with_description(as_text(item.get("name")), as_text(description) if description else "")


def _with_description(name: str, description: str) -> str:
    return f"{one_line(name)} ({one_line(description)})" if description else one_line(name)


def _wanted(node: Node) -> tuple[Reference, ...]:
    config = _config(node)
    if config is None:
        return ()
    texts: Sequence[str] = list(node_types()[node.type].templates(config).values())
    found = (reference for text in texts for reference in references(text) if not reference.optional)
    return tuple(dict.fromkeys(found))
