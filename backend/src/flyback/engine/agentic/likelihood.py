"""The planner's rules around a model that is asked by likelihood: what its scores mean, and the reason afterwards.

A small model judges one claim a node, "the next step must be: …", against the run's digest. What it is known to overrate is
taken off: the node whose output it has just read, and a step that it took before and that has led back to the same place
with nothing new. Where the best two lie closer than the margin, the drawing decides: its first edge, if it is among the best
three. The reason is written after the choice, and a plain sentence stands in where that fails or takes too long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flyback.domain.decision import DecisionMethod
from flyback.domain.errors import NodeError
from flyback.domain.graph import NodeId
from flyback.engine.agentic.chart import Card, one_line
from flyback.engine.agentic.circles import steps_in_a_circle
from flyback.engine.agentic.digest import Scene, candidates, claim_of, digest, name_of
from flyback.engine.calls import CallPlace
from flyback.engine.live_text import as_is
from flyback.engine.ports import ChatModel, Clock, Message

MARGIN = 0.1
"""Closer than this, two log-odds tell nothing."""
JUST_DONE = 1.0
"""By how much a small model overrates the node whose output it reads, in log-odds: fitted on the evaluation's cases."""
IN_A_CIRCLE = 1.0
"""What a step loses, in log-odds, for each time that it was taken and led back here with nothing new."""
REASON_MAX_TOKENS = 40
REASON_SECONDS = 5.0
_BEST = 3


@dataclass(frozen=True, slots=True)
class LikelihoodChoice:
    next: NodeId
    reason: str
    method: DecisionMethod
    """`likelihood`, or `likelihood_edge` where the margin rule took the drawn edge."""
    scores: Mapping[str, float]
    """Node id to log-odds, the best first, after what the rules took off."""
    margin: float | None
    """Best minus second; None with a single candidate."""
    left_out: tuple[NodeId, ...]
    """Nodes that were no candidates, for want of room."""
    model: str
    """The provider's own name of the model that judged."""


async def choose(scene: Scene, *, model: ChatModel, place: CallPlace, clock: Clock) -> LikelihoodChoice:
    """Choose the next node by likelihood, then have the reason written, streamed as the planner's text.

    The calls are metered and recorded by `place`.

    Raises:
        NodeError: the model could not judge. A reason that could not be written is no failure.
    """
    choice = candidates(scene)
    text = digest(scene)
    verdict = await place.judge(model, text, [claim_of(scene, card) for card in choice.cards])
    circles = steps_in_a_circle(scene.visits)
    weighed = [
        (card, score - _bias(scene, card, circles)) for card, score in zip(choice.cards, verdict.scores, strict=True)
    ]
    ranked = sorted(weighed, key=lambda scored: -scored[1])
    margin = ranked[0][1] - ranked[1][1] if len(ranked) > 1 else None
    chosen, method = _take(scene, [card for card, _ in ranked], margin)
    scores: dict[str, float] = {card.node_id: round(score, 4) for card, score in ranked}
    reason = await _reason(scene, text, chosen, model=model, place=place, clock=clock)
    return LikelihoodChoice(
        next=chosen.node_id,
        reason=reason or _plain_reason(scene, chosen, method, scores[chosen.node_id], margin),
        method=method,
        scores=scores,
        margin=None if margin is None else round(margin, 4),
        left_out=choice.left_out,
        model=verdict.model,
    )


def _bias(scene: Scene, card: Card, circles: Counter[NodeId]) -> float:
    """What a score is too high by."""
    current = scene.current
    # The output that it reads sounds like the node that wrote it.
    just_done = JUST_DONE if card.node_id == current.node_id and current.error is None else 0.0
    return just_done + IN_A_CIRCLE * circles[card.node_id]


def _take(scene: Scene, ranked: Sequence[Card], margin: float | None) -> tuple[Card, DecisionMethod]:
    """Return the best node, or the first drawn one where the best two can hardly be told apart."""
    if margin is None or margin >= MARGIN or not scene.drawn_edges:
        return ranked[0], "likelihood"
    drawn = scene.drawn_edges[0].target
    for card in ranked[:_BEST]:
        if card.node_id == drawn:
            return card, "likelihood_edge"
    return ranked[0], "likelihood"


async def _reason(
    scene: Scene, text: str, chosen: Card, *, model: ChatModel, place: CallPlace, clock: Clock
) -> str | None:
    """Have the model say in a sentence why, or return None."""
    try:
        async with clock.timeout(REASON_SECONDS):
            reply = await place.ask(
                model,
                _why(scene, text, chosen),
                temperature=0.0,
                max_tokens=REASON_MAX_TOKENS,
                purpose="decision",
                on_text=as_is,
            )
    except (NodeError, TimeoutError):
        return None
    return one_line(reply.text) or None


def _why(scene: Scene, text: str, chosen: Card) -> list[Message]:
    """Ask for the reason. The digest comes first and unchanged, so that the model still has it in memory."""
    if scene.chart.chinese:
        question = f"问题：为什么下一步是“{name_of(chosen)}”？请用一句话回答。"
    else:
        question = f"Question: why is the next step {name_of(chosen)!r}? Answer with one sentence."
    return [Message("user", text), Message("user", question)]


def _plain_reason(scene: Scene, chosen: Card, method: DecisionMethod, score: float, margin: float | None) -> str:
    ahead = margin or 0.0
    if method == "likelihood_edge":
        if scene.chart.chinese:
            return f"各候选得分接近（差距 {ahead:.2f}），沿画布连线前往「{chosen.label}」（得分 {score:.2f}）。"
        return f"The candidates are close (margin {ahead:.2f}): followed the drawn edge to {chosen.label!r} (score {score:.2f})."
    if scene.chart.chinese:
        return f"「{chosen.label}」得分最高（{score:.2f}，领先 {ahead:.2f}）。"
    return f"{chosen.label!r} scored best ({score:.2f}, ahead by {ahead:.2f})."
