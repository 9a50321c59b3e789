"""The planner's answer after a visit: where to go next, why, and who said so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from flyback.domain.graph import NodeId
from flyback.domain.run import NO_USAGE, Usage
from flyback.domain.value import value_type

DecisionSource = Literal["planner", "fallback", "person", "only_choice"]
DecisionMethod = Literal["json", "likelihood", "likelihood_edge"]


@dataclass(frozen=True, slots=True)
class Rejected:
    """An answer that could not be used, and why."""

    answer: str
    why: str


@value_type
class Decision:
    next: NodeId
    reason: str
    source: DecisionSource
    on_canvas: bool
    """Whether it is a drawn step."""
    cause: str | None = None
    """Of a fallback: what went wrong."""
    model: str | None = None
    method: DecisionMethod | None = None
    scores: Mapping[str, float] | None = None
    """Node id to log-odds, where the likelihood decider chose."""
    margin: float | None = None
    left_out: tuple[str, ...] = ()
    """Candidates that a small model was not shown."""
    usage: Usage = NO_USAGE
    latency_ms: int = 0
    attempts: int = 1
    rejected: tuple[Rejected, ...] = ()
