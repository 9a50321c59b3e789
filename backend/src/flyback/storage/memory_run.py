"""A run of the ledger in memory: what is stored of it, and what can be read from that alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pydantic import JsonValue

from flyback.domain.events import EventType, NewEvent
from flyback.domain.graph import Graph, NodeId
from flyback.domain.pause import Pause
from flyback.domain.run import Mode, RunId, RunStatus, RunUsage, StepStatus, VisitId, WorkflowId
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace
from flyback.engine import event_data
from flyback.engine.log import CallRecord, Inside, Journal, NodeRecord, RunEnd, RunOptions, SubRun
from flyback.engine.resuming import Resumed

_OPEN = frozenset({StepStatus.RUNNING, StepStatus.PAUSED})
_PAUSING = frozenset({EventType.RUN_PAUSED, EventType.RUN_RESUMED})


@dataclass(slots=True)
class MemoryRun:
    """A run as it stands."""

    run_id: RunId
    owner_id: str
    workflow_id: WorkflowId | None
    version: int | None
    mode: Mode
    graph: Graph
    inputs: Mapping[str, JsonValue]
    options: RunOptions
    created_at: datetime
    workflow_name: str = ""
    inside: Inside | None = None
    status: RunStatus = RunStatus.PENDING
    epoch: int = 0
    segment: int = 0
    step: int = 0
    usage: RunUsage = field(default_factory=RunUsage)
    visits: list[Visit] = field(default_factory=list[Visit])
    nodes: dict[NodeId, NodeRecord] = field(default_factory=dict[NodeId, NodeRecord])
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    pauses: dict[str, Pause] = field(default_factory=dict[str, Pause])
    journals: dict[NodeId | VisitId, Journal] = field(default_factory=dict[NodeId | VisitId, Journal])
    end: RunEnd | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    events: list[tuple[NewEvent, datetime]] = field(default_factory=list[tuple[NewEvent, datetime]])
    waiting: list[asyncio.Future[None]] = field(default_factory=list[asyncio.Future[None]])

    def workspace_after(self, visit_id: VisitId) -> Workspace:
        """Return the whole workspace after a visit that ended: the one before it plus what it gave."""
        workspace = Workspace.of_inputs(self.inputs)
        for visit in self.visits:
            if visit.envelope is not None:
                workspace = workspace.after(visit.envelope, writer=visit.sort_order)
            if visit.visit_id == visit_id:
                return workspace
        raise KeyError(visit_id)

    def tell(self, events: Sequence[NewEvent], now: datetime) -> None:
        """Number events, and wake who waits for one."""
        self.events.extend([(event, now) for event in events])
        waiting, self.waiting = self.waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def put(self, visit: Visit) -> None:
        """Store a visit's state at its place."""
        if visit.sort_order == len(self.visits):
            self.visits.append(visit)
        else:
            self.visits[visit.sort_order] = visit

    def keep(self, journal: Journal) -> None:
        place = journal.visit_id or journal.node_id
        if journal.state is None:
            self.journals.pop(place, None)
        else:
            self.journals[place] = journal

    def last_pauses(self) -> Sequence[Pause]:
        """Return the last pause of each visit or node that is PAUSED."""
        if not self.pauses:
            return ()
        paused: set[str] = {visit.visit_id for visit in self.visits if visit.status is StepStatus.PAUSED}
        paused |= {record.node_id for record in self.nodes.values() if record.status is StepStatus.PAUSED}
        last = {pause.visit_id or pause.node_id: pause for pause in self.pauses.values()}
        return [pause for place, pause in last.items() if place in paused]

    @property
    def was_told_paused(self) -> bool:
        """Whether the last that was told of a wait is that it began."""
        if not self.pauses:
            return False
        told = (event.type for event, _ in reversed(self.events) if event.type in _PAUSING)
        return next(told, None) is EventType.RUN_PAUSED

    def close_steps(self, now: datetime) -> list[NewEvent]:
        """Close as CANCELLED what is open in a run that somebody cancels; return what is to be told of it."""
        events = self._stopped_calls()
        for node_id, record in self.nodes.items():
            if record.status in _OPEN:
                cancelled = replace(record, status=StepStatus.CANCELLED, attempts=record.attempts + 1, finished_at=now)
                self.nodes[node_id] = cancelled
                events.append(event_data.node_ended(cancelled))
        for place, visit in enumerate(self.visits):
            if visit.status in _OPEN:
                before = self._before(place)
                closed = replace(
                    visit,
                    status=StepStatus.CANCELLED,
                    attempts=visit.attempts + 1,
                    finished_at=now,
                    writers=before.writers,
                )
                self.visits[place] = closed
                events += [event_data.visit_ended(closed), event_data.visit_recorded(closed, before)]
        return events

    def as_sub_run(self) -> SubRun:
        assert self.inside is not None, "a sub-run has its place in another run"
        end = self.end or RunEnd(self.status)
        return SubRun(self.run_id, self.inside.index, self.status, end.outputs, end.error, self.usage.total)

    def _stopped_calls(self) -> list[NewEvent]:
        """The end of every tool call that was begun and is not on record."""
        known = {call.call_id for call in self.calls}
        events: list[NewEvent] = []
        for journal in self.journals.values():
            begun = Resumed.read(journal).begun
            if begun is not None and begun.call_id not in known:
                events.append(event_data.tool_stopped(journal.node_id, journal.visit_id, begun, duration_ms=0))
        return events

    def _before(self, place: int) -> Workspace:
        """Return the workspace that the visit at a place saw."""
        return self.workspace_after(self.visits[place - 1].visit_id) if place else Workspace.of_inputs(self.inputs)


async def any_changed(runs: Sequence[MemoryRun]) -> None:
    """Wait until something is told of one of them."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    for run in runs:
        run.waiting.append(future)
    await future
