"""The planner's prompt: its view as messages, in English or Chinese.

What people, models and tools wrote stands in fences that it cannot close, and the planner is told that it is data. Node
labels and descriptions are the drawing's own words; they are kept on one line, so that none can pose as a section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from flyback.domain.graph import NodeId
from flyback.domain.json_value import dumps
from flyback.domain.run import StepStatus
from flyback.engine.agentic.chart import Card, Chart, one_line
from flyback.engine.agentic.view import BudgetLeft, Choice, Named, PlannerView, Taken
from flyback.engine.agentic.words import CHINESE, ENGLISH, Words
from flyback.engine.ports import Message

_MOST_IN_ENUM = 250
"""Providers refuse longer lists; the answer is checked anyway."""
_SHOWN_AGAIN_CHARACTERS = 2000
_BACKTICKS = re.compile(r"`{3,}")


class PromptWriter:
    """Writes the prompts of one run; what does not change is written once."""

    def __init__(self, chart: Chart) -> None:
        self._say = say = CHINESE if chart.chinese else ENGLISH
        self._system = Message("system", say.rules)
        self._cards = {node_id: _card_text(card, say) for node_id, card in chart.cards.items()}
        self._heads = {node_id: _head(card) for node_id, card in chart.cards.items()}
        self._names = {node_id: dumps(node_id) for node_id in chart.cards}
        self._lines: dict[NodeId, tuple[Choice, str]] = {}
        """Of each node what was written last, as long as nothing changes."""
        self._decided: dict[Taken, str] = {}
        """Decisions that were written before."""
        self._edges = _section(say.edges, _edge_lines(chart))
        self.schema = _answer_schema(chart)
        """A JSON schema of the answer, for providers that can be held to one."""

    def write(self, view: PlannerView) -> list[Message]:
        """Return the messages that ask for the next node."""
        return [self._system, Message("user", "\n\n".join(self._sections(view)))]

    def write_again(self, messages: Sequence[Message], answer: str, why: str) -> list[Message]:
        """Return the messages for the second try: the first ones, the answer that was no use, and why."""
        told = self._say.try_again.format(why=why)
        if answer.strip():
            return [*messages, Message("assistant", answer[:_SHOWN_AGAIN_CHARACTERS]), Message("user", told)]
        last = messages[-1]
        return [*messages[:-1], Message("user", f"{last.text}\n\n{told}")]

    def _sections(self, view: PlannerView) -> Iterator[str]:
        say = self._say
        yield _fenced(say.task, _named(view.task) or say.nothing_given)
        yield self._current(view)
        if view.signals:
            yield _fenced(say.signals, view.signals)
        if view.control:
            yield _fenced(say.control, view.control)
        yield _fenced(say.output, view.output) if view.output else f"## {say.output}\n{say.no_output}"
        if view.failure is not None:
            yield from self._failure(view)
        if view.branch is not None:
            yield self._branch(view)
        if view.tool_calls:
            yield _fenced(say.tool_calls, _named(view.tool_calls))
        if view.variables:
            yield _fenced(say.variables, _named(view.variables))
        yield _section(say.nodes, (self._choice(choice, view) for choice in view.choices))
        yield self._edges
        if view.decisions:
            yield _fenced(say.decisions, "\n".join(self._decisions(view)))
        yield self._left(view)
        if view.no_progress:
            yield say.no_progress.format(node=self._name(view.current.node_id))
        yield say.question

    def _current(self, view: PlannerView) -> str:
        say, visit = self._say, view.current
        status = say.failed if visit.status is StepStatus.FAILED else say.succeeded
        line = say.current_line.format(
            node=self._heads.get(visit.node_id) or self._name(visit.node_id),
            number=visit.sort_order + 1,
            iter_seq=visit.iter_seq,
            status=status,
        )
        return f"## {say.current}\n{line}"

    def _failure(self, view: PlannerView) -> Iterator[str]:
        assert view.failure is not None, "written where there is a failure"
        yield _fenced(self._say.failure, f"{view.failure.code}: {view.failure.message}")
        if view.failure.hint is not None:
            yield self._say.error_edge.format(node=self._name(view.failure.hint))

    def _branch(self, view: PlannerView) -> str:
        assert view.branch is not None, "written where a condition chose"
        say, branch = self._say, view.branch
        way = say.branch_leads.format(node=self._name(branch.leads_to)) if branch.leads_to else say.branch_leads_nowhere
        meaning = f" ({branch.meaning})" if branch.meaning else ""
        return f"## {say.branch}\n{branch.handle}{meaning} {way}"

    def _choice(self, choice: Choice, view: PlannerView) -> str:
        node_id = choice.card.node_id
        if node_id == view.current.node_id:
            return self._choice_text(choice, self._say.here)
        known = self._lines.get(node_id)
        if known is None or known[0] is not choice:
            known = self._lines[node_id] = (choice, self._choice_text(choice, ""))
        return known[1]

    def _choice_text(self, choice: Choice, here: str) -> str:
        say = self._say
        text = f"{self._cards[choice.card.node_id]}\n  {say.visited.format(count=choice.visits)}{here}"
        return f"{text}\n  {say.unwritten}{', '.join(choice.unwritten)}" if choice.unwritten else text

    def _decisions(self, view: PlannerView) -> Iterator[str]:
        written = self._decided
        for taken in view.decisions:
            line = written.get(taken)
            if line is None:
                source = "" if taken.source == "planner" else f" [{taken.source}]"
                line = f"{self._name(taken.after)} → {self._name(taken.next)}{source}: {one_line(taken.reason)}"
                written[taken] = line
            yield line

    def _left(self, view: PlannerView) -> str:
        lines = [self._say.visits_left.format(count=view.visits_left)]
        if view.budget_left is not None:
            lines.append(f"{self._say.budget_left}{self._budget(view.budget_left)}")
        return _section(self._say.left, lines)

    def _budget(self, left: BudgetLeft) -> str:
        say = self._say
        parts: list[str] = []
        if left.tokens is not None:
            parts.append(say.tokens.format(count=left.tokens))
        if left.seconds is not None:
            parts.append(say.seconds.format(count=round(left.seconds)))
        if left.cost is not None:
            parts.append(f"{left.cost:.4f} {left.currency or ''}".rstrip())
        return ", ".join(parts)

    def _name(self, node_id: NodeId) -> str:
        """How a node is named in running text. A node that a fork's graph no longer has is named by its id."""
        return self._names.get(node_id) or dumps(node_id)


def _head(card: Card) -> str:
    return f"{dumps(card.node_id)} ({card.type}) {card.label}"


def _card_text(card: Card, say: Words) -> str:
    lines = [f"- {_head(card)}{': ' if card.description else ''}{card.description}"]
    if card.inputs:
        lines.append(f"  {say.inputs}{'; '.join(card.inputs)}")
    if card.outputs:
        lines.append(f"  {say.outputs}{'; '.join(card.outputs)}")
    return "\n".join(lines)


def _edge_lines(chart: Chart) -> Iterator[str]:
    for edge in chart.edges:
        by = "" if edge.handle == "output" else f" [{one_line(edge.handle)}]"
        yield f"{dumps(edge.source)} → {dumps(edge.target)}{by}"


def _answer_schema(chart: Chart) -> dict[str, JsonValue]:
    next_node: dict[str, JsonValue] = {"type": "string"}
    if len(chart.cards) <= _MOST_IN_ENUM:
        next_node["enum"] = [str(node_id) for node_id in chart.cards]
    properties: Mapping[str, JsonValue] = {"next": next_node, "reason": {"type": "string"}}
    return {
        "type": "object",
        "properties": dict(properties),
        "required": ["next", "reason"],
        "additionalProperties": False,
    }


def _named(values: Iterable[Named]) -> str:
    return "\n".join([value.line for value in values])


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {title}", *lines])


def _fenced(title: str, data: str) -> str:
    """Put data between fences that are longer than any row of backticks in it."""
    fence = "```"
    if fence in data:
        fence = "`" * (max(len(row) for row in _BACKTICKS.findall(data)) + 1)
    return f"## {title}\n{fence}\n{data}\n{fence}"
