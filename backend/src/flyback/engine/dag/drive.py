"""Driving a run in DAG mode: the drawing decides, this module starts what may start and writes down what came of it.

One coordinator commits, so that steps follow one another; nodes work beside it. The commit of a node's end also holds every
node that it made SKIPPED or RUNNING, in topological order. A node on its own, or one that waits for nothing, is
executed in place; only nodes that wait at the same time are tasks.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush

from pydantic import JsonValue

from flyback.domain.errors import FlybackError, NoOutputError
from flyback.domain.events import NewEvent
from flyback.domain.graph import NodeId
from flyback.domain.pause import Ask, Pause
from flyback.domain.run import ErrorInfo, RunStatus, StepStatus
from flyback.engine import event_data
from flyback.engine.book import Book
from flyback.engine.calls import Meter
from flyback.engine.dag.records import Records
from flyback.engine.dag.schedule import Fate, Plan, Progress
from flyback.engine.dag.work import AttemptFailed, Ended, Settled, Work, WorkKept
from flyback.engine.execute import FailedAttempt, Kept, NodeRunner, OnFailedAttempt, OnKept
from flyback.engine.log import AnsweredError, CallRecord, Journal, NodeRecord, RunEnd, RunState
from flyback.engine.node_context import Place
from flyback.engine.outcome import NodeOutcome, run_error_of
from flyback.engine.parts import Engine
from flyback.engine.pausing import pause_for
from flyback.engine.resuming import Resumed
from flyback.engine.skills_of_run import skills_of_run
from flyback.engine.sub_runs import SubRuns


@dataclass(slots=True)
class _Step:
    """What one commit will hold."""

    events: list[NewEvent] = field(default_factory=list[NewEvent])
    nodes: list[NodeRecord] = field(default_factory=list[NodeRecord])
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    pauses: list[Pause] = field(default_factory=list[Pause])
    journals: list[Journal] = field(default_factory=list[Journal])

    def add(self, record: NodeRecord, event: NewEvent) -> None:
        self.nodes.append(record)
        self.events.append(event)


class DagDriver:
    def __init__(self, state: RunState, engine: Engine, meter: Meter, book: Book, sub_runs: SubRuns) -> None:
        self._state = state
        self._engine = engine
        self._meter = meter
        self._book = book
        self._plan = Plan.of(state.graph)
        self._progress = Progress(self._plan)
        self._runner = NodeRunner(state, engine, meter, sub_runs)
        self._records = Records(self._plan, state.inputs)
        self._ready: list[tuple[int, NodeId]] = []
        self._started: list[NodeId] = []
        """RUNNING by the last commit, and not yet at work."""
        self._work = Work(self._execute)
        self._at_once: deque[NodeId] = deque()
        """At work too, but they wait for nothing and need no task."""
        self._paused: dict[str, Pause] = {}
        """Questions that nobody has answered yet, by their ids."""
        self._resumed: dict[NodeId, Resumed] = {}
        """How interrupted nodes go on."""
        self._journaled = {journal.node_id for journal in state.journals}
        """Nodes that have a journal to be cleared away at their end."""
        self._told_paused = state.told_paused
        self._step = _Step()
        """What the next commit will hold."""

    async def run(self) -> None:
        try:
            await skills_of_run(self._state, self._engine)
            await self._drive()
        finally:
            await self._work.stop()

    async def fail(self, error: FlybackError) -> None:
        self._close_open()
        await self._end_failed(error.info, partial=self._records.partial())

    async def _drive(self) -> None:
        self._open_up()
        while self._moves or self._paused:
            if not self._moves:
                if await self._rest():
                    return
                continue
            await self._write()
            if self._started:
                await self._book.begin_step()
            ended = await self._next_outcome()
            if ended is None:
                continue
            node_id, outcome = ended
            if outcome.ask is not None:
                self._pause(node_id, outcome, outcome.ask)
                self._follow({})
                continue
            self._take_in(node_id, outcome)
            if outcome.aborts:
                await self._abort(node_id)
                return
            self._follow(self._progress.settle(node_id, outcome.handle))
        await self._finish()

    @property
    def _moves(self) -> bool:
        return bool(self._started or self._work or self._at_once)

    async def _write(self, end: RunEnd | None = None, *, rests: bool = False) -> None:
        step = self._step
        if step.events or rests:
            await self._book.write(
                step.events,
                nodes=step.nodes,
                calls=step.calls,
                pauses=step.pauses,
                journals=step.journals,
                rests=rests,
                end=end,
            )
            self._step = _Step()

    # Waiting for people.

    def _pause(self, node_id: NodeId, outcome: NodeOutcome, ask: Ask) -> None:
        record = replace(
            self._records[node_id],
            status=StepStatus.PAUSED,
            attempts=outcome.attempts,
            inputs=outcome.inputs,
            usage=outcome.usage,
        )
        pause = pause_for(self._engine, ask, node_id)
        self._records.put(record)
        self._paused[pause.pause_id] = pause
        self._work.stop_watching()
        step = self._step
        step.pauses.append(pause)
        if node_id in self._journaled:
            step.journals.append(Journal(node_id, None, None))
            self._journaled.discard(node_id)
        step.calls.extend(outcome.calls)
        step.events.extend(event_data.asked(pause))
        step.add(record, event_data.node_paused(node_id, attempt=record.attempts + 1))

    async def _rest(self) -> bool:
        """Leave the run to the people it asked; False where one of them has answered meanwhile."""
        events = self._step.events
        before = len(events)
        if not self._told_paused:
            events.append(event_data.run_paused(self._paused.values()))
        try:
            await self._write(rests=True)
        except AnsweredError:
            del events[before:]
            self._go_on(await self._settled(self._paused.values(), wait=False))
            return False
        return True

    async def _settled(self, pauses: Collection[Pause], *, wait: bool) -> Sequence[Pause]:
        return await self._engine.log.settled(self._state.run_id, pauses, wait=wait)

    def _go_on(self, settled: Sequence[Pause]) -> None:
        """Let the nodes go on whose questions are settled, as far as there are places."""
        settled = [pause for pause in settled if self._paused.pop(pause.pause_id, None) is not None]
        if settled and self._told_paused:
            self._told_paused = False
            self._step.events.append(event_data.run_resumed(settled))
        for pause in settled:
            self._resumed[pause.node_id] = Resumed.after(pause)
        self._follow({pause.node_id: "ready" for pause in settled})

    # Beginning, and going on after a death.

    def _open_up(self) -> None:
        """Work out where the run stands; nodes that were interrupted start again."""
        fates = self._progress.begin()
        for record in self._records.read(self._state.nodes):
            fates.update(self._progress.settle(record.node_id, record.handle))
        self._resumed = {journal.node_id: Resumed.read(journal) for journal in self._state.journals}
        for node_id in self._plan.order:
            record = self._state.nodes.get(node_id)
            if record is None or node_id in self._records:
                continue
            self._records.put(record)
            if record.status is StepStatus.RUNNING:
                self._started.append(node_id)
                event = event_data.node_running(node_id, attempt=record.attempts + 1, recovered=True)
                self._step.add(record, event)
        self._paused = {pause.pause_id: pause for pause in self._state.pauses}
        self._go_on([pause for pause in self._state.pauses if pause.is_settled])
        self._follow({node_id: fate for node_id, fate in fates.items() if node_id not in self._records})

    # What follows from an end.

    def _take_in(self, node_id: NodeId, outcome: NodeOutcome) -> None:
        began = self._records[node_id]
        ended = NodeRecord(
            node_id,
            began.node_type,
            began.node_label,
            outcome.status,
            attempts=outcome.attempts,
            inputs=outcome.inputs,
            envelope=outcome.envelope,
            handle=outcome.handle,
            error=outcome.error,
            usage=outcome.usage,
            started_at=began.started_at,
            finished_at=self._engine.clock.now(),
        )
        self._records.end(ended)
        self._step.add(ended, event_data.node_ended(ended))
        self._step.calls.extend(outcome.calls)
        if node_id in self._journaled:
            self._step.journals.append(Journal(node_id, None, None))

    def _follow(self, fates: Mapping[NodeId, Fate]) -> None:
        """Mark what is skipped, and start what is ready as far as there are places."""
        changed: dict[NodeId, Fate] = {}
        for node_id, fate in fates.items():
            if fate == "skipped":
                changed[node_id] = fate
            else:
                heappush(self._ready, (self._plan.place[node_id], node_id))
        working = len(self._work) + len(self._at_once) + len(self._started)
        free = self._state.options.parallel_nodes - working
        while self._ready and free > 0:
            changed[heappop(self._ready)[1]] = "ready"
            free -= 1
        for node_id in changed if len(changed) < 2 else self._plan.in_order(changed):
            self._begin(node_id, changed[node_id])

    def _begin(self, node_id: NodeId, fate: Fate) -> None:
        node = self._plan.node(node_id)
        now = self._engine.clock.now()
        if fate == "skipped":
            skipped = NodeRecord(node_id, node.type, node.label, StepStatus.SKIPPED, finished_at=now)
            self._records.end(skipped)
            self._step.add(skipped, event_data.node_skipped(node_id))
            return
        interrupted = self._records.get(node_id)
        if interrupted is None:
            running = NodeRecord(node_id, node.type, node.label, StepStatus.RUNNING, started_at=now)
        else:
            running = replace(interrupted, status=StepStatus.RUNNING)
            self._step.journals.append(self._resumed[node_id].journal(node_id, None))
            self._journaled.add(node_id)
        self._records.put(running)
        self._started.append(node_id)
        self._step.add(running, event_data.node_running(node_id, attempt=running.attempts + 1))

    # Working.

    async def _next_outcome(self) -> tuple[NodeId, NodeOutcome] | None:
        """Set what was started to work, and return the next node that ended, or None where an answer came before.

        Failed attempts, and how far nodes have come, are committed meanwhile.
        """
        started, self._started = self._started, []
        alone = len(started) == 1 and not self._work and not self._at_once and not self._paused
        for node_id in started:
            if alone or not self._runner.waits(self._plan.node(node_id)):
                self._at_once.append(node_id)
            else:
                self._work.start(node_id)
        if self._at_once:
            node_id = self._at_once.popleft()
            keep = partial(self._commit_kept, node_id)
            return node_id, await self._execute(node_id, partial(self._commit_attempt, node_id), keep)
        if self._paused:
            self._work.watch(partial(self._settled, list(self._paused.values()), wait=True))
        while True:
            match await self._work.report():
                case Ended(node_id, outcome):
                    return node_id, outcome
                case AttemptFailed(node_id, failed, committed):
                    await self._commit_attempt(node_id, failed)
                    _tell(committed)
                case WorkKept(node_id, kept, committed):
                    await self._commit_kept(node_id, kept)
                    _tell(committed)
                case Settled(pauses):
                    self._go_on(pauses)
                    return None

    async def _execute(self, node_id: NodeId, on_failed: OnFailedAttempt, on_kept: OnKept) -> NodeOutcome:
        return await self._runner.run(self._plan.node(node_id), self._place(node_id), on_failed, on_kept)

    async def _commit_attempt(self, node_id: NodeId, failed: FailedAttempt) -> None:
        record = replace(self._records[node_id], attempts=failed.attempt, usage=failed.usage)
        self._records.put(record)
        event = event_data.node_retry(node_id, attempt=failed.attempt, error=failed.error, wait_ms=failed.wait_ms)
        await self._book.write([event], nodes=[record], calls=failed.calls)

    async def _commit_kept(self, node_id: NodeId, kept: Kept) -> None:
        record = replace(self._records[node_id], usage=kept.usage)
        self._records.put(record)
        self._journaled.add(node_id)
        await self._book.keep(kept, node_id, nodes=[record])

    def _place(self, node_id: NodeId) -> Place:
        record = self._records[node_id]
        workspace, earlier = self._records.view(node_id)
        return Place(
            workspace=workspace,
            earlier=earlier,
            live_predecessors=lambda: self._records.live_predecessors(node_id),
            skipped=self._records.skipped,
            attempts=record.attempts,
            usage=record.usage,
            resumed=self._resumed.get(node_id),
        )

    # Ending.

    async def _finish(self) -> None:
        """Nothing works and nothing is ready: the run has its result."""
        outputs = self._records.outputs()
        if not outputs:
            error = NoOutputError(
                "the run ended, and no output node ran", fix="Look at which branches were taken, and draw a way out."
            )
            await self._end_failed(error.info)
            return
        self._step.events.append(event_data.workflow_complete(outputs, self._meter.usage, visit_count=None))
        await self._write(RunEnd(RunStatus.SUCCESS, outputs, path=self._records.path))

    async def _abort(self, node_id: NodeId) -> None:
        failed = self._records[node_id]
        assert failed.error is not None, "a node that failed has its error"
        await self._work.stop()
        self._close_open()
        self._records.end_last(node_id)
        error = run_error_of(node_id, failed.node_label, failed.error)
        await self._end_failed(error.info)

    async def _end_failed(self, error: ErrorInfo, *, partial: JsonValue = None) -> None:
        end = RunEnd(RunStatus.FAILED, error=error, path=self._records.path, partial=partial)
        self._step.events.append(event_data.workflow_error(end))
        await self._write(end)

    def _close_open(self) -> None:
        """Record what ended meanwhile as it ended, and what was stopped as CANCELLED, with the calls it had made."""
        for report in self._work.unread():
            match report:
                case Ended(node_id, outcome) if outcome.ask is None:
                    self._take_in(node_id, outcome)
                case Ended(node_id, outcome):
                    self._step.calls.extend(outcome.calls)
                    self._records.put(replace(self._records[node_id], usage=outcome.usage))
                case WorkKept(node_id, kept, _):
                    self._step.calls.extend(kept.calls)
                    self._records.put(replace(self._records[node_id], usage=kept.usage))
                case _:
                    pass
        now = self._engine.clock.now()
        stopped_calls = self._meter.take_records()
        self._step.calls.extend(stopped_calls)
        for record in self._records.open:
            usage = record.usage
            for call in stopped_calls:
                usage = usage.plus(call.usage) if call.node_id == record.node_id else usage
            cancelled = replace(
                record, status=StepStatus.CANCELLED, attempts=record.attempts + 1, usage=usage, finished_at=now
            )
            self._records.put(cancelled)
            self._step.add(cancelled, event_data.node_ended(cancelled))


def _tell(committed: asyncio.Future[None]) -> None:
    if not committed.cancelled():
        committed.set_result(None)
