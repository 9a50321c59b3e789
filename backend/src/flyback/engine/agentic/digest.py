"""What a small model is shown of a run before it judges where to go next: a digest under 900 tokens.

It holds the task, the latest variables, where the drawing leads, and last the output with its signals, or the failure.
It does not name the node that gave the output: a small model tends to choose what it has just read the name of. The candidates are the drawn successors, the output nodes, the nodes visited so far and then the others in canvas
order, 24 at most; the rest is left out, which the decision records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from flyback.domain.envelope import CONTROL
from flyback.domain.graph import Edge, NodeId
from flyback.domain.visit import Visit
from flyback.domain.workspace import SEPARATOR, Workspace
from flyback.engine.agentic.chart import Card, Chart, branch_meaning, one_line
from flyback.engine.nodes.base import node_types
from flyback.engine.shown import as_text, cut, latest_variables, output_text

MAX_CANDIDATES = 24
MAX_TOKENS = 900

_TASK_CHARACTERS = 240
_REMARK_CHARACTERS = 200
_LABEL_CHARACTERS = 60
_DESCRIPTION_CHARACTERS = 120
_PLANNED = 3
_VARIABLES = 8
_ABBREVIATION = 2
"""Letters of a label that is a mere sign, such as `B`."""
_NUMBER_BEHIND = re.compile(r"[\s_-]*[0-9]{0,9}$")
_VARIABLE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class _Words:
    claim: str
    task: str
    planned: str
    result: str
    nothing: str
    failed: str
    decided: str
    control: str


_ENGLISH = _Words(
    claim="the next step must be: {}",
    task="Task: {}",
    planned="Planned next step: {}",
    result="Latest result: {}",
    nothing="(no output)",
    failed="Failure: {}",
    decided="Decided: {}",
    control="Asked for: {}",
)
_CHINESE = _Words(
    claim="下一步必须是：{}",
    task="任务：{}",
    planned="计划的下一步：{}",
    result="最新结果：{}",
    nothing="（节点无输出）",
    failed="失败：{}",
    decided="判断：{}",
    control="请求：{}",
)


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a run stands when the planner is asked."""

    chart: Chart
    inputs: Mapping[str, JsonValue]
    visits: Sequence[Visit]
    """All that ended, in order; the planner is asked after the last one."""
    workspace: Workspace
    """After the last visit."""

    @property
    def words(self) -> _Words:
        return _CHINESE if self.chart.chinese else _ENGLISH

    @property
    def current(self) -> Visit:
        return self.visits[-1]

    @property
    def drawn_edges(self) -> tuple[Edge, ...]:
        """The edges by which the last visit goes on as drawn, in canvas order."""
        current = self.current
        return tuple(
            edge for edge in self.chart.edges if edge.source == current.node_id and edge.handle == current.handle
        )


@dataclass(frozen=True, slots=True)
class Candidates:
    cards: tuple[Card, ...]
    left_out: tuple[NodeId, ...]


def candidates(scene: Scene) -> Candidates:
    """Return the nodes that may come next, the likeliest kinds first."""
    cards = scene.chart.cards
    ordered: dict[NodeId, None] = {}
    ordered.update((edge.target, None) for edge in scene.drawn_edges)
    ordered.update((card.node_id, None) for card in cards.values() if card.type == "output")
    ordered.update((visit.node_id, None) for visit in reversed(scene.visits))
    ordered.update((node_id, None) for node_id in cards)
    known = [node_id for node_id in ordered if node_id in cards]
    shown = tuple(cards[node_id] for node_id in known[:MAX_CANDIDATES])
    return Candidates(shown, tuple(known[MAX_CANDIDATES:]))


def claim_of(scene: Scene, card: Card) -> str:
    """Say that a node comes next."""
    return scene.words.claim.format(name_of(card))


def name_of(card: Card) -> str:
    """A node as a small model is told of it: by its label, or by its description where the label tells nothing.

    Both at once were judged worse: the more words, the less each of them counts.
    """
    bare = _NUMBER_BEHIND.sub("", card.label).casefold()
    if card.description and (bare in _names_of_nothing(card) or (bare.isascii() and len(bare) <= _ABBREVIATION)):
        return cut(card.description, _DESCRIPTION_CHARACTERS)
    return cut(card.label, _LABEL_CHARACTERS)


def _names_of_nothing(card: Card) -> set[str]:
    """Labels that a person has not chosen: the id, the type, the type's own name, each perhaps with a number behind."""
    titles = node_types()[card.type].title.values() if card.type in node_types() else ()
    return {_NUMBER_BEHIND.sub("", name).casefold() for name in (card.node_id, card.type, *titles)}


def digest(scene: Scene) -> str:
    """Return the text that every claim is judged against. Too long, it loses the oldest variables first, then remarks."""
    before, remarks = [_task(scene)], _remarks(scene)
    news, variables = _news(scene), _variables(scene)
    while tokens_about("\n".join([*before, *variables, *news, *remarks])) > MAX_TOKENS and (variables or remarks):
        (variables or remarks).pop()
    return "\n".join([*before, *variables, *news, *remarks])


def tokens_about(text: str) -> float:
    """Estimate a text's tokens, rather too many: a third of its ASCII characters and three quarters of all others."""
    ascii_characters = sum(character < "\x80" for character in text)
    return ascii_characters / 3 + (len(text) - ascii_characters) * 0.75


def _task(scene: Scene) -> str:
    inputs = [f"{name}: {as_text(value)}" for name, value in scene.inputs.items()]
    return scene.words.task.format(_short("; ".join(inputs), _TASK_CHARACTERS))


def _news(scene: Scene) -> list[str]:
    """Where the drawing leads, and what the last visit brought."""
    words, current = scene.words, scene.current
    planned = list(dict.fromkeys(edge.target for edge in scene.drawn_edges))[:_PLANNED]
    names = ", ".join(name_of(scene.chart.cards[node_id]) for node_id in planned)
    drawn = [words.planned.format(names)] if names else []
    if current.error is not None:
        return [*drawn, words.failed.format(_short(current.error.message, _REMARK_CHARACTERS))]
    return [*drawn, words.result.format(output_text(current.envelope) or words.nothing)]


def _remarks(scene: Scene) -> list[str]:
    """What the last visit said beside its output, the weightiest first."""
    words, current = scene.words, scene.current
    envelope = current.envelope
    remarks: list[str] = []
    if envelope is not None and CONTROL in envelope.data:
        remarks.append(words.control.format(_short(envelope.data[CONTROL], _REMARK_CHARACTERS)))
    if branch := _branch(scene):
        remarks.append(words.decided.format(branch))
    if envelope is not None:
        remarks += [f"{name}: {_short(value, _REMARK_CHARACTERS)}" for name, value in envelope.signals.items()]
    return remarks


def _short(value: JsonValue, limit: int) -> str:
    return cut(one_line(as_text(value)), limit)


def _branch(scene: Scene) -> str:
    current = scene.current
    if current.node_type != "condition" or current.handle is None:
        return ""
    return cut(branch_meaning(scene.chart.graph.nodes[current.node_id], current.handle), _REMARK_CHARACTERS)


def _variables(scene: Scene) -> list[str]:
    """The variables written last, the latest first, without the last output and the run's inputs."""
    inputs = scene.inputs.keys()
    found = latest_variables(scene.workspace, without_writer=scene.current.sort_order)
    return [
        f"- {name}: {_short(value, _VARIABLE_CHARACTERS)}"
        for name, value in found
        if name not in inputs and name.rpartition(SEPARATOR)[2] not in inputs
    ][:_VARIABLES]
