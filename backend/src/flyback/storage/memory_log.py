"""The run ledger in memory: the same semantics as the one in the database, and nothing is left when the process ends.

For library use, tests and benchmarks. One event loop uses it, so a method that does not wait is a transaction.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce

from pydantic import JsonValue

from flyback.domain.answering import Given, answered, has_expired
from flyback.domain.errors import NotFoundError
from flyback.domain.events import TERMINAL, EventType, NewEvent, StoredEvent
from flyback.domain.graph import Graph, NodeId
from flyback.domain.pause import Pause, PauseStatus
from flyback.domain.run import NO_USAGE, Mode, RunId, RunStatus, RunUsage, StepStatus, Usage, VisitId, WorkflowId
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace
from flyback.engine import event_data
from flyback.engine.log import (
    CLOSED_BY,
    AnsweredError,
    CallCount,
    Callee,
    CallRecord,
    CallRole,
    Commit,
    FencedError,
    Inputs,
    Inside,
    Journal,
    NodeRecord,
    RunEnd,
    RunOptions,
    RunState,
    SubRun,
)
from flyback.engine.ports import Clock
from flyback.engine.resuming import Resumed
from flyback.storage.encode import Encoder

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


class MemoryLog:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._runs: dict[RunId, MemoryRun] = {}

    # Starting and looking.

    def accept(
        self,
        run_id: RunId,
        graph: Graph,
        *,
        mode: Mode,
        options: RunOptions,
        inputs: Mapping[str, JsonValue] | None = None,
        owner_id: str = "local",
        workflow_id: WorkflowId | None = None,
        workflow_name: str = "",
        version: int | None = None,
        inside: Inside | None = None,
    ) -> MemoryRun:
        """Take in a run as PENDING, with `run_started` as its first event."""
        assert run_id not in self._runs, f"run {run_id} is there already"
        given = dict(inputs or {})
        now = self._clock.now()
        run = MemoryRun(run_id, owner_id, workflow_id, version, mode, graph, given, options, now, workflow_name, inside)
        self._runs[run_id] = run
        started = event_data.run_started(
            workflow_id=workflow_id,
            mode=mode,
            version=version,
            inputs=given,
            default_model=options.default_model,
            parent_run_id=inside.parent_run_id if inside is not None else None,
        )
        self._store(run, [started])
        return run

    def run(self, run_id: RunId) -> MemoryRun:
        """Return a run. Raises KeyError."""
        return self._runs[run_id]

    @property
    def runs(self) -> Sequence[MemoryRun]:
        return tuple(self._runs.values())

    def forget(self, run_id: RunId) -> None:
        self._runs.pop(run_id, None)

    def state_of(self, run_id: RunId) -> RunState:
        """Return what a driver would read now."""
        run = self._runs[run_id]
        counts: Counter[tuple[NodeId, VisitId | None, CallRole]] = Counter(
            (call.node_id, call.visit_id, call.role) for call in run.calls
        )
        return RunState(
            run_id=run_id,
            owner_id=run.owner_id,
            workflow_id=run.workflow_id,
            mode=run.mode,
            graph=run.graph,
            inputs=run.inputs,
            options=run.options,
            epoch=run.epoch,
            step=run.step,
            usage=self._usage(run),
            inside=run.inside,
            visits=tuple(run.visits),
            nodes=dict(run.nodes),
            call_counts=tuple(CallCount(*place, count) for place, count in counts.items()),
            pauses=tuple(self._as_is(pause) for pause in _last_pauses(run)) if run.pauses else (),
            journals=tuple(run.journals.values()),
            told_paused=bool(run.pauses) and _was_told_paused(run),
            fresh=not run.visits and not run.nodes,
            last_event=len(run.events),
        )

    def events_of(self, run_id: RunId, *, after: int = 0) -> list[StoredEvent]:
        encoder = Encoder()
        return [
            StoredEvent(run_id, seq, event.type, encoder.event(event.data), at)
            for seq, (event, at) in enumerate(self._runs[run_id].events[after:], start=after + 1)
        ]

    async def follow(self, run_id: RunId, *, after: int = 0) -> AsyncIterator[StoredEvent]:
        """Yield the events of a run in order, as they come, until its terminal one."""
        run = self._runs[run_id]
        while True:
            for event in self.events_of(run_id, after=after):
                yield event
                after = event.seq
                if event.type in TERMINAL:
                    return
            if len(run.events) == after:
                await self._changed(run)

    async def end_of(self, run_id: RunId) -> RunEnd:
        """Wait for a run's end."""
        run = self._runs[run_id]
        while run.end is None:
            await self._changed(run)
        return run.end

    def cancel(self, run_id: RunId, by: str) -> RunStatus:
        """End a run that has no end yet, and all inside it; whoever drives it is fenced. Returns the status it has by then."""
        run = self._runs[run_id]
        if run.status.ended:
            return run.status
        rested = run.status is RunStatus.PAUSED
        self._cancel(run, by)
        self._tell_outer(run, wakes=rested)
        return run.status

    def hand_back(self, run_id: RunId) -> int:
        """Give a run back for another driver. Returns the segment in which it goes on."""
        run = self._runs[run_id]
        if not run.status.ended:
            run.status = RunStatus.PENDING
            run.segment += 1
        return run.segment

    def answer(self, pause_id: str, given: Given, *, by: str) -> MemoryRun:
        """Answer a pause; the run, or the one it is inside of, goes on in a new segment where it was PAUSED.

        Returns the run that is to be driven. Raises what `answered` raises.
        """
        run = self._run_of(pause_id)
        pause = run.pauses[pause_id]
        now = answered(pause, given, by=by, now=self._clock.now())
        if now is not pause:
            assert now.reply is not None, "an answer was read"
            self._settle(run, now, event_data.clarify_answered(now, now.reply, by))
        return run if run.inside is None else self._runs[run.inside.root_run_id]

    def expire(self) -> list[MemoryRun]:
        """End the wait for every answer that did not come in time; return the runs that are to be driven again."""
        found: list[MemoryRun] = []
        for run in self._runs.values():
            due = [pause for pause in run.pauses.values() if has_expired(pause, self._clock.now())]
            for pause in due:
                rested = run.status is RunStatus.PAUSED
                self._settle(run, replace(pause, status=PauseStatus.EXPIRED), event_data.pause_expired(pause))
                found += [run] if rested else []
        return found

    # The engine's side.

    async def take_over(self, run_id: RunId, segment: int) -> RunState | None:
        run = self._runs[run_id]
        if run.status not in (RunStatus.PENDING, RunStatus.RUNNING) or segment < run.segment:
            return None
        run.epoch += 1
        run.status = RunStatus.RUNNING
        run.started_at = run.started_at or self._clock.now()
        return self.state_of(run_id)

    async def commit(self, commit: Commit) -> None:
        run = self._runs[commit.run_id]
        if commit.epoch != run.epoch:
            raise FencedError
        if commit.step <= run.step:
            return
        if run.status is not RunStatus.RUNNING:
            raise FencedError
        if commit.rests is not None and commit.rests.last_event != len(run.events):
            raise AnsweredError(len(run.events))
        run.step = commit.step
        run.usage = commit.usage
        for visit in (commit.visit, commit.decided, commit.started):
            if visit is not None:
                _put(run.visits, visit)
        for record in commit.nodes:
            run.nodes[record.node_id] = record
        run.calls.extend(commit.calls)
        run.pauses.update({pause.pause_id: pause for pause in commit.pauses})
        for journal in commit.journals:
            _keep(run.journals, journal)
        if commit.rests is not None:
            run.status = RunStatus.PAUSED
        if commit.end is not None:
            self._finish(run, commit.end)
        self._store(run, commit.events)
        if commit.rests is not None or commit.end is not None:
            self._tell(run, run.status)

    async def settled(self, run_id: RunId, pauses: Collection[Pause], *, wait: bool) -> Sequence[Pause]:
        run = self._runs[run_id]
        while True:
            now = [self._as_is(run.pauses.get(pause.pause_id, pause)) for pause in pauses]
            found = [pause for pause in now if pause.is_settled]
            if found or not wait:
                return found
            inner = [self._runs[inner_id] for pause in pauses for inner_id in pause.ask.waits_for]
            await self._any_changed([run, *inner])

    async def leave_calls(self, run_id: RunId, epoch: int, calls: Sequence[CallRecord]) -> None:
        run = self._runs[run_id]
        if run.epoch == epoch + 1 and run.status is RunStatus.CANCELLED:
            run.calls.extend(calls)

    async def begin_step(self, state: RunState) -> None:
        """No process outlives this log, so no death is counted."""

    # Runs inside runs.

    async def of_place(self, run_id: RunId, node_id: NodeId, visit_id: VisitId | None) -> Sequence[SubRun]:
        return [_as_sub_run(run) for run in self._of_place(run_id, node_id, visit_id)]

    async def callee(self, run_id: RunId) -> Callee:
        run = self._runs[run_id]
        return Callee(run.graph, run.mode, run.options, run.workflow_id, run.workflow_name, run.version)

    async def start(self, run_id: RunId, owner_id: str, callee: Callee, inputs: Inputs, inside: Inside) -> None:
        self._refuse_unless_driven(inside)
        run = self.accept(
            run_id,
            callee.graph,
            mode=callee.mode,
            options=callee.options,
            inputs=inputs,
            owner_id=owner_id,
            workflow_id=callee.workflow_id,
            workflow_name=callee.workflow_name,
            version=callee.version,
            inside=inside,
        )
        self._tell(run, RunStatus.RUNNING)

    async def take_over_inside(self, run_id: RunId, inside: Inside) -> RunState | None:
        self._refuse_unless_driven(inside)
        run = self._runs[run_id]
        run.inside = inside
        return await self.take_over(run_id, run.segment)

    def let_go(self, run_id: RunId) -> None:
        """Nothing is kept of who drives a run."""

    async def find(self, run_id: RunId) -> SubRun:
        return _as_sub_run(self._runs[run_id])

    async def close(self, parent: RunState, node_id: NodeId, visit_id: VisitId | None) -> Usage:
        mine = self._of_place(parent.run_id, node_id, visit_id)
        for run in mine:
            if not run.status.ended:
                self._cancel(run, CLOSED_BY)
                self._tell(run, run.status)
        return reduce(Usage.plus, (run.usage.total for run in mine), NO_USAGE)

    async def ended(self, run_id: RunId) -> None:
        await self.end_of(run_id)

    async def woken(self, run_ids: Collection[RunId]) -> None:
        runs = [self._runs[run_id] for run_id in run_ids]
        while all(run.status is RunStatus.PAUSED for run in runs):
            await self._any_changed(runs)

    def _of_place(self, run_id: RunId, node_id: NodeId, visit_id: VisitId | None) -> list[MemoryRun]:
        place = (run_id, node_id, visit_id)
        found = [
            (inside.index, run)
            for run in self._runs.values()
            if (inside := run.inside) and (inside.parent_run_id, inside.node_id, inside.visit_id) == place
        ]
        return [run for _, run in sorted(found, key=lambda one: one[0])]

    def _inner(self, run: MemoryRun) -> list[MemoryRun]:
        return [one for one in self._runs.values() if one.inside and one.inside.parent_run_id == run.run_id]

    def _refuse_unless_driven(self, inside: Inside) -> None:
        parent = self._runs[inside.parent_run_id]
        if parent.epoch != inside.parent_epoch or parent.status is not RunStatus.RUNNING:
            raise FencedError

    def _cancel(self, run: MemoryRun, by: str) -> None:
        run.epoch += 1
        events = [*self._closed(run), event_data.run_cancelled(by)]
        self._finish(run, RunEnd(RunStatus.CANCELLED))
        self._store(run, events)

    def _tell(self, run: MemoryRun, status: RunStatus) -> None:
        """Tell the run that this one is inside of."""
        if run.inside is not None:
            self._store(self._runs[run.inside.parent_run_id], [event_data.sub_run(run.inside, run.run_id, status)])

    def _tell_outer(self, run: MemoryRun, *, wakes: bool) -> None:
        """Tell the runs around a run that it can go on, or has its end; where they rested for it they go on as well."""
        self._tell(run, run.status)
        if run.inside is None or not wakes:
            return
        outer = self._runs[run.inside.parent_run_id]
        if outer.status is RunStatus.PAUSED:
            outer.status = RunStatus.PENDING
            outer.segment += outer.inside is None
            self._tell_outer(outer, wakes=True)

    def _usage(self, run: MemoryRun) -> RunUsage:
        inner = reduce(Usage.plus, (one.usage.total for one in self._inner(run)), NO_USAGE)
        own = run.usage.total.minus(run.usage.sub_runs)
        return replace(run.usage, total=own.plus(inner), sub_runs=inner)

    def _as_is(self, pause: Pause) -> Pause:
        """A pause that stands for sub-runs is over when one of them can go on."""
        woken = any(self._runs[run_id].status is not RunStatus.PAUSED for run_id in pause.ask.waits_for)
        return replace(pause, status=PauseStatus.ANSWERED) if woken else pause

    # Helpers.

    def _store(self, run: MemoryRun, events: Sequence[NewEvent]) -> None:
        now = self._clock.now()
        run.events.extend([(event, now) for event in events])
        if run.waiting:
            waiting, run.waiting = run.waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    def _run_of(self, pause_id: str) -> MemoryRun:
        for run in self._runs.values():
            if pause_id in run.pauses:
                return run
        raise NotFoundError(f"There is no question {pause_id!r}.")

    def _settle(self, run: MemoryRun, pause: Pause, event: NewEvent) -> None:
        run.pauses[pause.pause_id] = pause
        if run.status is RunStatus.PAUSED:
            run.status = RunStatus.PENDING
            run.segment += run.inside is None
            self._store(run, [event])
            self._tell_outer(run, wakes=True)
        else:
            self._store(run, [event])

    def _finish(self, run: MemoryRun, end: RunEnd) -> None:
        for inner in self._inner(run):
            if not inner.status.ended:
                self._cancel(inner, CLOSED_BY)
        for pause in [pause for pause in run.pauses.values() if pause.status is PauseStatus.OPEN]:
            run.pauses[pause.pause_id] = replace(pause, status=PauseStatus.CANCELLED)
        run.end = end
        run.status = end.status
        run.finished_at = self._clock.now()

    def _closed(self, run: MemoryRun) -> list[NewEvent]:
        """Close what is open in a run that somebody cancels."""
        now = self._clock.now()
        events = _stopped_calls(run)
        for node_id, record in run.nodes.items():
            if record.status in _OPEN:
                cancelled = replace(record, status=StepStatus.CANCELLED, attempts=record.attempts + 1, finished_at=now)
                run.nodes[node_id] = cancelled
                events.append(event_data.node_ended(cancelled))
        for place, visit in enumerate(run.visits):
            if visit.status in _OPEN:
                before = self._before(run, place)
                closed = replace(
                    visit,
                    status=StepStatus.CANCELLED,
                    attempts=visit.attempts + 1,
                    finished_at=now,
                    writers=before.writers,
                )
                run.visits[place] = closed
                events += [event_data.visit_ended(closed), event_data.visit_recorded(closed, before)]
        return events

    def _before(self, run: MemoryRun, place: int) -> Workspace:
        return run.workspace_after(run.visits[place - 1].visit_id) if place else Workspace.of_inputs(run.inputs)

    async def _changed(self, run: MemoryRun) -> None:
        await self._any_changed([run])

    async def _any_changed(self, runs: Sequence[MemoryRun]) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for run in runs:
            run.waiting.append(future)
        await future


def _stopped_calls(run: MemoryRun) -> list[NewEvent]:
    """The end of every tool call that was begun and is not on record."""
    known = {call.call_id for call in run.calls}
    events: list[NewEvent] = []
    for journal in run.journals.values():
        begun = Resumed.read(journal).begun
        if begun is not None and begun.call_id not in known:
            events.append(event_data.tool_stopped(journal.node_id, journal.visit_id, begun, duration_ms=0))
    return events


def _as_sub_run(run: MemoryRun) -> SubRun:
    assert run.inside is not None, "a sub-run has its place in another run"
    end = run.end or RunEnd(run.status)
    return SubRun(run.run_id, run.inside.index, run.status, end.outputs, end.error, run.usage.total)


def _put(visits: list[Visit], visit: Visit) -> None:
    """Store a visit's state at its place."""
    if visit.sort_order == len(visits):
        visits.append(visit)
    else:
        visits[visit.sort_order] = visit


def _keep(journals: dict[NodeId | VisitId, Journal], journal: Journal) -> None:
    place = journal.visit_id or journal.node_id
    if journal.state is None:
        journals.pop(place, None)
    else:
        journals[place] = journal


def _last_pauses(run: MemoryRun) -> tuple[Pause, ...]:
    """The last pause of each visit or node that is PAUSED."""
    paused: set[str] = {visit.visit_id for visit in run.visits if visit.status is StepStatus.PAUSED}
    paused |= {record.node_id for record in run.nodes.values() if record.status is StepStatus.PAUSED}
    last = {pause.visit_id or pause.node_id: pause for pause in run.pauses.values()}
    return tuple(pause for place, pause in last.items() if place in paused)


def _was_told_paused(run: MemoryRun) -> bool:
    told = (event.type for event, _ in reversed(run.events) if event.type in _PAUSING)
    return next(told, None) is EventType.RUN_PAUSED
