"""What a run is: its modes, its statuses, what it used.

A node record (DAG) and a visit (AGENTIC) share one set of statuses, which is that of a run plus SKIPPED.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal, NewType, TypeVar

from pydantic import JsonValue

from flyback.domain.value import value_type

RunId = NewType("RunId", str)
"""The UUID that people and the wire see."""
WorkflowId = NewType("WorkflowId", str)
VisitId = NewType("VisitId", str)

VersionChoice = int | Literal["latest"] | None
"""Which form of a workflow is to run: a published version, the newest of them, or (None) the saved draft."""


class Mode(StrEnum):
    DAG = "DAG"
    AGENTIC = "AGENTIC"

    @classmethod
    def read(cls, text: str | None) -> Mode:
        """Read a mode without regard to case; missing means DAG. Raises ValueError for anything else."""
        return cls((text or "DAG").strip().upper())


class RunStatus(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def ended(self) -> bool:
        return self in _ENDED


_ENDED = frozenset({RunStatus.SUCCESS, RunStatus.FAILED, RunStatus.CANCELLED})


class StepStatus(StrEnum):
    """The status of a node record or of a visit."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"


@value_type
class Usage:
    """What model calls used. `cost` is None where no call had a price."""

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cost: float | None = None
    currency: str | None = None
    estimated: bool = False

    def plus(self, other: Usage) -> Usage:
        if not other.calls:
            return self
        if not self.calls:
            return other
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            calls=self.calls + other.calls,
            cost=sum(costs) if costs else None,
            currency=self.currency or other.currency,
            estimated=self.estimated or other.estimated,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def minus(self, part: Usage) -> Usage:
        """Return what is left without a part that is contained in this."""
        calls = self.calls - part.calls
        if not calls:
            return NO_USAGE
        cost = None if self.cost is None else self.cost - (part.cost or 0.0)
        return Usage(
            self.input_tokens - part.input_tokens,
            self.output_tokens - part.output_tokens,
            calls,
            cost,
            self.currency,
            self.estimated,
        )


NO_USAGE = Usage()


@value_type
class RunUsage:
    """A run's sum; `planner` and `sub_runs` are contained in `total`. `driven_seconds` is time that something drove it."""

    total: Usage = NO_USAGE
    planner: Usage = NO_USAGE
    driven_seconds: float = 0.0
    sub_runs: Usage = NO_USAGE
    """What the runs used that its nodes started."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use at most; None means no limit. `seconds` is driven time."""

    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None

    def tightest(self, other: Budget) -> Budget:
        """Return the smaller of both, limit by limit."""
        return Budget(
            tokens=_smaller(self.tokens, other.tokens),
            seconds=_smaller(self.seconds, other.seconds),
            cost=_smaller(self.cost, other.cost),
        )


_Number = TypeVar("_Number", int, float)


def _smaller(a: _Number | None, b: _Number | None) -> _Number | None:
    return b if a is None else a if b is None else min(a, b)


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """A failure as every door and every row shows it."""

    code: str
    message: str
    node: str | None = None
    field: str | None = None
    fix: str | None = None


@value_type
class RunOutput:
    """The result of one output node."""

    node_id: str
    result: JsonValue
    unresolved: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Times:
    started_at: datetime | None = None
    finished_at: datetime | None = None
