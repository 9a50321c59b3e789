"""The run ledger in memory: the same semantics as the one in the database, and nothing is left when the process ends.

For library use, tests and benchmarks. One event loop uses it, so a method that does not wait is a transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from pydantic import JsonValue

from flyback.domain.answering import Given, answered, has_expired
from flyback.domain.errors import NotFoundError
from flyback.domain.events import TERMINAL, NewEvent, StoredEvent
from flyback.domain.graph import Graph, NodeId
from flyback.domain.pause import Pause, PauseStatus
from flyback.domain.run import NO_USAGE, Mode, RunId, RunStatus, RunUsage, Usage, VisitId, WorkflowId
from flyback.domain.wire import time_on_wire
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
    RunEnd,
    RunOptions,
    RunState,
    SubRun,
)
from flyback.engine.ports import Clock
from flyback.storage.encode import Encoder
from flyback.storage.memory_run import MemoryRun, any_changed


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
        run.tell([started], self._clock.now())
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
            pauses=tuple(self._as_is(pause) for pause in run.last_pauses()),
            journals=tuple(run.journals.values()),
            told_paused=run.was_told_paused,
            fresh=not run.visits and not run.nodes,
            last_event=len(run.events),
        )

    def events_of(self, run_id: RunId, *, after: int = 0) -> list[StoredEvent]:
        encoder = Encoder()
        return [
            StoredEvent(run_id, seq, event.type, encoder.event(event.data), time_on_wire(at))
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
                await any_changed([run])

    async def end_of(self, run_id: RunId) -> RunEnd:
        """Wait for a run's end."""
        run = self._runs[run_id]
        while run.end is None:
            await any_changed([run])
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
                run.put(visit)
        for record in commit.nodes:
            run.nodes[record.node_id] = record
        run.calls.extend(commit.calls)
        run.pauses.update({pause.pause_id: pause for pause in commit.pauses})
        for journal in commit.journals:
            run.keep(journal)
        if commit.rests is not None:
            run.status = RunStatus.PAUSED
        if commit.end is not None:
            self._finish(run, commit.end)
        run.tell(commit.events, self._clock.now())
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
            await any_changed([run, *inner])

    async def leave_calls(self, run_id: RunId, epoch: int, calls: Sequence[CallRecord]) -> None:
        run = self._runs[run_id]
        if run.epoch == epoch + 1 and run.status is RunStatus.CANCELLED:
            run.calls.extend(calls)

    async def begin_step(self, state: RunState) -> None:
        """No process outlives this log, so no death is counted."""

    # Runs inside runs.

    async def of_place(self, run_id: RunId, node_id: NodeId, visit_id: VisitId | None) -> Sequence[SubRun]:
        return [run.as_sub_run() for run in self._of_place(run_id, node_id, visit_id)]

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
        return self._runs[run_id].as_sub_run()

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
            await any_changed(runs)

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
        events = [*run.close_steps(self._clock.now()), event_data.run_cancelled(by)]
        self._finish(run, RunEnd(RunStatus.CANCELLED))
        run.tell(events, self._clock.now())

    def _tell(self, run: MemoryRun, status: RunStatus) -> None:
        """Tell the run that this one is inside of."""
        if run.inside is not None:
            outer = self._runs[run.inside.parent_run_id]
            outer.tell([event_data.sub_run(run.inside, run.run_id, status)], self._clock.now())

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
            run.tell([event], self._clock.now())
            self._tell_outer(run, wakes=True)
        else:
            run.tell([event], self._clock.now())

    def _finish(self, run: MemoryRun, end: RunEnd) -> None:
        for inner in self._inner(run):
            if not inner.status.ended:
                self._cancel(inner, CLOSED_BY)
        for pause in [pause for pause in run.pauses.values() if pause.status is PauseStatus.OPEN]:
            run.pauses[pause.pause_id] = replace(pause, status=PauseStatus.CANCELLED)
        run.end = end
        run.status = end.status
        run.finished_at = self._clock.now()
