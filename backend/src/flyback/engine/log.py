"""What the engine writes of a run, and what it reads back to go on: the port to the run ledger.

A run's tables are its only state. The engine commits whole steps, each one transaction: a visit's outcome; a decision with
the next visit as RUNNING; a DAG node's outcome with every node it made ready or SKIPPED; a failed attempt; the end.
A commit carries the epoch of its driver and the number of the step it makes, so that a driver that lost the run writes
nothing and a commit whose reply was lost is recognised when it is tried again. After a death everything is read from the
rows again; nothing is replayed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from pydantic import JsonValue

from flyback.domain.envelope import Envelope
from flyback.domain.events import NewEvent
from flyback.domain.graph import Graph, NodeId
from flyback.domain.pause import Pause
from flyback.domain.run import (
    NO_USAGE,
    Budget,
    ErrorInfo,
    Mode,
    RunId,
    RunOutput,
    RunStatus,
    RunUsage,
    StepStatus,
    Usage,
    VisitId,
    WorkflowId,
)
from flyback.domain.value import value_type
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace

Inputs = Mapping[str, JsonValue]

CallRole = Literal["node", "planner", "tool"]
"""Who asks: a node or the planner asks a model, and `tool` is a node that uses a tool. Counted apart, so that a tool call
shifts neither the keys of model calls nor the place in a script."""


@value_type
class CallRecord:
    """One finished model or tool call, as it can be looked at later. Messages and answer are JSON values."""

    node_id: NodeId
    visit_id: VisitId | None
    role: CallRole
    n: int
    """Counts the calls recorded at this place (visit, in DAG mode node) for this role, from 1."""
    kind: Literal["model", "tool"]
    name: str
    """Model entry or tool."""
    request: JsonValue
    response: JsonValue
    attempt: int
    usage: Usage
    latency_ms: int
    created_at: datetime
    error: ErrorInfo | None = None
    model: str | None = None
    """The provider's own name of the model that answered."""
    finish_reason: str | None = None
    recovered: bool = False
    """Whether a driver died while it was being made before: a tool may have worked twice."""

    @property
    def call_id(self) -> str:
        """Its name within the run."""
        return call_id_of(self.node_id, self.visit_id, self.role, self.n)


def call_id_of(node_id: NodeId, visit_id: VisitId | None, role: CallRole, n: int) -> str:
    return f"{visit_id or node_id}/{role}-{n}"


@value_type
class Begun:
    """A tool call that is being made and is not on record yet."""

    call_id: str
    name: str

    def on_wire(self) -> JsonValue:
        return {"callId": self.call_id, "name": self.name}

    @classmethod
    def read(cls, wire: JsonValue) -> Begun | None:
        """Read what `on_wire` wrote; None where there is nothing."""
        return cls(str(wire["callId"]), str(wire["name"])) if isinstance(wire, dict) else None


@value_type
class CallBegins:
    """A tool call as it is told when it begins."""

    node_id: NodeId
    visit_id: VisitId | None
    begun: Begun
    arguments: JsonValue
    recovered: bool
    """Whether a driver before this one told it already, and died."""


@dataclass(frozen=True, slots=True)
class CallCount:
    """How many calls a run has recorded at one place for one role."""

    node_id: NodeId
    visit_id: VisitId | None
    role: CallRole
    count: int


@dataclass(frozen=True, slots=True)
class Journal:
    """How far the work inside one visit, or one DAG node, has come, so that nothing of it is done twice.

    `state` belongs to whoever does the work and carries its version. None says that there is nothing to keep any more.
    """

    node_id: NodeId
    visit_id: VisitId | None
    state: JsonValue


@value_type
class NodeRecord:
    """One node of a DAG run. `writers` tells nothing here: the workspace is rebuilt from the outputs."""

    node_id: NodeId
    node_type: str
    node_label: str
    status: StepStatus
    attempts: int = 0
    inputs: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The variables that its templates used."""
    envelope: Envelope | None = None
    handle: str | None = None
    """The handle it activated, once it ended; None for none."""
    error: ErrorInfo | None = None
    usage: Usage = NO_USAGE
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Forced:
    """Where a person sends a fork, in place of the planner."""

    after: int
    """The `sort_order` of the visit that this is decided after."""
    next: NodeId
    reason: str
    """Empty where the person gave none."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What was settled when the run was accepted, and stays so."""

    default_model: str
    planner_model: str | None = None
    """None means the default model."""
    max_visits: int = 50
    budget: Budget = field(default_factory=Budget)
    queued_inputs: Mapping[NodeId, Sequence[Mapping[str, JsonValue]]] = field(
        default_factory=dict[NodeId, Sequence[Mapping[str, JsonValue]]]
    )
    script: JsonValue = None
    """The script that the built-in entry `scripted` plays."""
    parallel_nodes: int = 16
    forced: Forced | None = None
    above: tuple[WorkflowId | None, ...] = ()
    """Of a sub-run: the workflows of the runs that it is inside of, outermost first."""


@dataclass(frozen=True, slots=True)
class Inside:
    """Where a sub-run belongs, and the epoch of its parent's driver: whoever drives the one drives the other."""

    root_run_id: RunId
    parent_run_id: RunId
    parent_epoch: int
    node_id: NodeId
    visit_id: VisitId | None
    index: int = 0
    """Which item of an iteration it is for."""
    count: int = 1
    """How many items there are."""


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as its driver takes it over, read from the rows after the take-over was committed."""

    run_id: RunId
    owner_id: str
    workflow_id: WorkflowId | None
    mode: Mode
    graph: Graph
    inputs: Mapping[str, JsonValue]
    options: RunOptions
    epoch: int
    step: int
    """Steps committed so far; the next commit makes step `step + 1`."""
    usage: RunUsage
    visits: tuple[Visit, ...] = ()
    """AGENTIC, in order. Those that ended carry their envelope."""
    nodes: Mapping[NodeId, NodeRecord] = field(default_factory=dict[NodeId, NodeRecord])
    """DAG: every node that was started, skipped or ended."""
    call_counts: Sequence[CallCount] = ()
    pauses: Sequence[Pause] = ()
    """The last pause of each visit or node that is PAUSED."""
    journals: Sequence[Journal] = ()
    """Of what is RUNNING."""
    told_paused: bool = False
    """Whether `run_paused` was told, and nothing since that it goes on."""
    inside: Inside | None = None
    """Set where this is a sub-run."""
    fresh: bool = True
    """Whether nothing was begun yet: the driver's first commit begins the run."""
    last_event: int = 1

    @property
    def task(self) -> Mapping[str, JsonValue]:
        """What the planner is told to work for: the run's inputs, as the edits of a fork have left them."""
        edits = [visit.edits for visit in self.visits if visit.edits]
        return {**self.inputs, **{key: value for edit in edits for key, value in edit.items() if key in self.inputs}}


@dataclass(frozen=True, slots=True)
class RunEnd:
    status: RunStatus
    outputs: Sequence[RunOutput] = ()
    error: ErrorInfo | None = None
    path: Sequence[NodeId] = ()
    partial: JsonValue = None


@value_type
class Commit:
    """One whole step. Everything in it is stored, or nothing."""

    run_id: RunId
    epoch: int
    step: int
    """The number of the step that this commit makes."""
    usage: RunUsage
    events: Sequence[NewEvent]
    """In order; an `Envelope` as a value is written as on the wire, cut by whole values at 64 KiB and marked."""
    visit: Visit | None = None
    """A visit's new state: its outcome or a failed attempt."""
    decided: Visit | None = None
    """The visit whose decision this is; may be the same as `visit` when both are stored at once."""
    workspace: Workspace | None = None
    """After the visit that was decided or that ended the run: the readable snapshot is made from it."""
    started: Visit | None = None
    """The next visit, as RUNNING."""
    nodes: Sequence[NodeRecord] = ()
    """DAG: new states."""
    calls: Sequence[CallRecord] = ()
    pauses: Sequence[Pause] = ()
    """New questions, as OPEN."""
    journals: Sequence[Journal] = ()
    rests: Rest | None = None
    """Set where nothing can move any more: the run becomes PAUSED, and its driver leaves it."""
    end: RunEnd | None = None
    inside: Inside | None = None
    """Of a sub-run: its parent is told when it rests and when it ends."""
    closes_sub_runs: bool = False
    """Whether runs inside this one may be open at its end; they end with it."""

    @property
    def is_progress(self) -> bool:
        """False where it only says again what was running when a driver died: the next death there counts on."""
        return not self.events or not all(event.data.get("recovered") for event in self.events)


@dataclass(frozen=True, slots=True)
class Rest:
    """The run waits for people, unless one has answered meanwhile."""

    last_event: int
    """The number of the run's last event as its driver knows it. An answer is an event, so a higher one is an answer that
    the driver has not seen."""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that is to be driven, as whoever looks for lost ones sees it."""

    run_id: RunId
    segment: int
    status: RunStatus
    worker_id: str | None
    """Who drives it, or means to start it."""


class FencedError(Exception):
    """The run belongs to somebody else by now, or has its end. Stop, silently."""


class AnsweredError(Exception):
    """The run was to rest, and somebody has answered meanwhile: nothing was stored, look at the pauses again."""

    def __init__(self, last_event: int) -> None:
        super().__init__()
        self.last_event = last_event


class RunLog(Protocol):
    """The run ledger, as the engine sees it."""

    async def take_over(self, run_id: RunId, segment: int) -> RunState | None:
        """Make this process the driver: `epoch + 1`, status RUNNING, in one transaction. None where there is nothing to
        do: the run has its end, the segment is old, or recovery is exhausted (then the run has just been ended).

        Raises:
            StateCorruptError: what is stored cannot be read; the run has been ended FAILED with its path.
        """
        ...

    async def commit(self, commit: Commit) -> None:
        """Store one step. Returns only after it is on disk; a lost reply is recognised and is no error.

        Raises:
            FencedError: nothing was stored.
            AnsweredError: nothing was stored, since the run cannot rest now.
        """
        ...

    async def settled(self, run_id: RunId, pauses: Collection[Pause], *, wait: bool) -> Sequence[Pause]:
        """Return those of these pauses that were answered or have expired; with `wait`, as soon as there is one.

        One that stands for sub-runs is settled when one of these is not PAUSED any more.
        """
        ...

    async def leave_calls(self, run_id: RunId, epoch: int, calls: Sequence[CallRecord]) -> None:
        """Put on record the calls that were stopped together with the run: only where somebody has just cancelled it."""
        ...

    async def begin_step(self, state: RunState) -> None:
        """Say that the next step really begins now, so that a death in it counts; waits its turn for a suspect run."""
        ...


@dataclass(frozen=True, slots=True)
class Callee:
    """What a sub-run runs, settled when the first one at its place was started."""

    graph: Graph
    mode: Mode
    options: RunOptions
    workflow_id: WorkflowId | None = None
    workflow_name: str = ""
    version: int | None = None


@dataclass(frozen=True, slots=True)
class SubRun:
    """A run that a node started, as the node sees it."""

    run_id: RunId | None
    """None where it could not even be started."""
    index: int
    status: RunStatus
    outputs: Sequence[RunOutput] = ()
    error: ErrorInfo | None = None
    usage: Usage = NO_USAGE


CLOSED_BY = "flyback"
"""Who cancels a run whose outer run, or the node that started it, is done."""


class SubRunLog(Protocol):
    """The runs inside runs. Each is a run of its own, driven by its parent's driver and by nobody else.

    What a driver does here it may do only while it drives the parent; else it is told `FencedError`.
    """

    async def of_place(self, run_id: RunId, node_id: NodeId, visit_id: VisitId | None) -> Sequence[SubRun]:
        """Return the runs that a node started at a visit (in DAG mode: at all), in the order of their items."""
        ...

    async def callee(self, run_id: RunId) -> Callee:
        """Return what a sub-run runs."""
        ...

    async def start(self, run_id: RunId, owner_id: str, callee: Callee, inputs: Inputs, inside: Inside) -> None:
        """Take in a sub-run as PENDING, and tell its parent. Raises FencedError."""
        ...

    async def take_over_inside(self, run_id: RunId, inside: Inside) -> RunState | None:
        """Make the driver of the parent the driver of a sub-run; None where it has its end or waits for people.

        Raises:
            FencedError: the parent is not the driver's.
            StateCorruptError: what is stored cannot be read; the sub-run has been ended FAILED.
        """
        ...

    def let_go(self, run_id: RunId) -> None:
        """Say that a sub-run is not driven any more, however that came."""
        ...

    async def find(self, run_id: RunId) -> SubRun:
        """Return a sub-run as it is now."""
        ...

    async def close(self, parent: RunState, node_id: NodeId, visit_id: VisitId | None) -> Usage:
        """Cancel the runs of a place that have no end: their node is done. Return what all of the place used.

        Raises FencedError."""
        ...

    async def ended(self, run_id: RunId) -> None:
        """Return when a sub-run has its end, whoever gave it."""
        ...

    async def woken(self, run_ids: Collection[RunId]) -> None:
        """Return when one of these is not PAUSED any more."""
        ...
