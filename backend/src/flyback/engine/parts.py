"""The parts that a run is driven with: everything the engine is handed from outside, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flyback.engine.closed import ClosedEgress, ClosedSandbox, ClosedShelf, ClosedTools
from flyback.engine.limits import RunLimits
from flyback.engine.log import RunLog, SubRunLog
from flyback.engine.ports import (
    AgentRuntime,
    Clock,
    Dice,
    Egress,
    Ids,
    LiveSink,
    ModelCatalog,
    Sandbox,
    SkillLibrary,
    Tools,
    WorkflowShelf,
)
from flyback.engine.watch import Watch, Watches


@dataclass(frozen=True, slots=True)
class Engine:
    clock: Clock
    ids: Ids
    dice: Dice
    log: RunLog
    models: ModelCatalog
    skills: SkillLibrary
    live: LiveSink
    limits: RunLimits = field(default_factory=RunLimits)
    egress: Egress = field(default_factory=ClosedEgress)
    sandbox: Sandbox = field(default_factory=ClosedSandbox)
    tools: Tools = field(default_factory=ClosedTools)
    sub_runs: SubRunLog | None = None
    workflows: WorkflowShelf = field(default_factory=ClosedShelf)
    agents: Mapping[str, AgentRuntime] = field(default_factory=dict[str, AgentRuntime])
    """What agents run on, by name."""
    watch: Watch = field(default_factory=Watches)
