"""What a visit is told of why it was sent: a block that stands after a node's instruction.

A second visit that does not know why it was sent would only do the same again. Agents and skills are told without asking;
an llm node when it is visited again and its prompt asks for none of it. In DAG mode there is nothing to tell.
"""

from __future__ import annotations

from dataclasses import dataclass

from flyback.engine.nodes.context import NodeContext, VisitFacts
from flyback.engine.shown import as_text, cut, latest_variables, output_text


@dataclass(frozen=True, slots=True)
class _Words:
    title: str
    visit: str
    reason: str
    requirements: str
    previous: str
    variables: str


_ENGLISH = _Words(
    title="About this visit",
    visit="This is visit {number} of the run, and visit {iter_seq} of this node.",
    reason="The planner sent you here because: {reason}",
    requirements="New requirements that nobody has taken up yet:",
    previous="What this node gave at its last visit:",
    variables="Variables of the run, the latest first:",
)
_CHINESE = _Words(
    title="关于本次访问",
    visit="这是本次运行的第 {number} 次访问，本节点的第 {iter_seq} 次访问。",
    reason="Planner 派你来的原因：{reason}",
    requirements="尚未处理的新需求：",
    previous="本节点上一次访问的输出：",
    variables="运行中的变量（最新的在前）：",
)


def what_a_visit_is_told(ctx: NodeContext) -> str:
    """Return the block, in the language of the workflow; empty in DAG mode."""
    facts = ctx.visit
    if facts is None:
        return ""
    words = _CHINESE if ctx.chinese else _ENGLISH
    parts = [f"## {words.title}", "\n".join(_why(facts, words))]
    previous = output_text(facts.previous_output)
    if previous:
        parts.append(f"{words.previous}\n{previous}")
    lines = [f"- {name}: {cut(as_text(value))}" for name, value in latest_variables(ctx.workspace)]
    if lines:
        parts.append("\n".join([words.variables, *lines]))
    return "\n\n".join(parts)


def told_after(instruction: str, block: str) -> str:
    """Return the instruction with the block behind it."""
    return "\n\n".join(part for part in (instruction, block) if part)


def _why(facts: VisitFacts, words: _Words) -> list[str]:
    lines = [words.visit.format(number=facts.number, iter_seq=facts.iter_seq)]
    if facts.reason:
        lines.append(words.reason.format(reason=facts.reason))
    if facts.requirements:
        lines.append(words.requirements)
        lines.extend(f"- {requirement}" for requirement in facts.requirements)
    return lines
