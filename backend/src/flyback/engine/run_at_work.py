"""What all attempts of a run have in common."""

from __future__ import annotations

from functools import cached_property

from flyback.domain.language import language_of
from flyback.engine.log import RunState
from flyback.engine.parts import Engine
from flyback.engine.sub_runs import SubRuns


class RunAtWork:
    """A run, what it is driven with, and the runs inside it."""

    def __init__(self, state: RunState, engine: Engine, sub_runs: SubRuns | None) -> None:
        self.state = state
        self.engine = engine
        self.sub_runs = sub_runs

    @cached_property
    def chinese(self) -> bool:
        return language_of(self.state.graph) == "zh-CN"
