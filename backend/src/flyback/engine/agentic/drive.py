"""The visit loop: a node is visited, its outcome is stored, the planner decides, the next node is visited.

Two commits a visit: its outcome; then the decision with the next visit as RUNNING. A visit that ends the run has its
outcome, its snapshot and the end in one. The planner is asked as soon as the outcome is known, while it is being stored;
what it says is shown, and what it decides is done, only afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from flyback.domain.decision import Decision
from flyback.domain.errors import FlybackError, GraphInvalidError, MaxVisitsExceededError, NodeFailedError
from flyback.domain.events import NewEvent
from flyback.domain.graph import Graph, Node
from flyback.domain.pause import Ask, Pause
from flyback.domain.run import Mode, RunStatus, StepStatus, Usage, VisitId
from flyback.domain.structure import start_nodes
from flyback.domain.visit import Visit
from flyback.engine import event_data
from flyback.engine.agentic.chain import OPEN, Chain
from flyback.engine.agentic.chart import draw_chart
from flyback.engine.agentic.planner import Decided, Planner
from flyback.engine.agentic.words import words
from flyback.engine.book import Book
from flyback.engine.calls import Meter
from flyback.engine.execute import FailedAttempt, Kept, NodeRunner
from flyback.engine.log import AnsweredError, CallRecord, Journal, RunEnd, RunState
from flyback.engine.node_context import Place
from flyback.engine.outcome import NodeOutcome, run_error_of
from flyback.engine.parts import Engine
from flyback.engine.pausing import pause_for
from flyback.engine.result import latest_main_value, run_output
from flyback.engine.resuming import Resumed
from flyback.engine.skills_of_run import skills_of_run
from flyback.engine.sub_runs import SubRuns

_OUTPUT = "output"


class AgenticDriver:
    """Drives one AGENTIC run, from where its rows stand to its end."""

    def __init__(self, state: RunState, engine: Engine, meter: Meter, book: Book, sub_runs: SubRuns) -> None:
        self._state = state
        self._engine = engine
        self._meter = meter
        self._book = book
        self._runner = NodeRunner(state, engine, meter, sub_runs)
        self._chart = draw_chart(state.graph)
        self._planner = Planner(state, engine, meter, self._chart)
        self._chain = Chain(state.graph, state.inputs, state.visits)
        self._is_stored = True
        """Whether the last visit's state is on disk."""
        self._before = self._chain.workspace
        """Before the last visit that ended."""
        self._has_end = False
        self._rests = False
        """Whether the run was left to a person."""
        self._resumed: Resumed | None = None
        """How the open visit goes on that was interrupted."""
        self._has_journal = False

    async def run(self) -> None:
        if skills := await skills_of_run(self._state, self._engine):
            self._chart = draw_chart(self._state.graph, skills=skills)
            self._planner = Planner(self._state, self._engine, self._meter, self._chart)
        await self._begin()
        while not self._has_end and not self._rests:
            if self._chain.last.status is StepStatus.RUNNING:
                await self._visit()
            else:
                await self._decide()

    async def fail(self, error: FlybackError) -> None:
        """End the run FAILED: the visit that is open is closed, the one that ended and has no successor gets its snapshot."""
        calls = self._meter.take_records()
        if not self._chain.visits:
            end = self._failed(error)
            await self._book.write([event_data.workflow_error(end)], calls=calls, end=end)
            return
        if self._chain.last.status in OPEN:
            self._close(calls)
        last = self._chain.last
        if self._is_stored:
            await self._end([], self._failed(error), decided=last, calls=calls)
        else:
            await self._end(self._ended_events(last), self._failed(error), visit=last, calls=calls)

    def _close(self, calls: Sequence[CallRecord]) -> None:
        """The visit that was stopped is CANCELLED; what its calls used is on it."""
        visit = self._chain.last
        usage = reduce(Usage.plus, (call.usage for call in calls if call.role == "node"), visit.usage)
        self._take_in(
            NodeOutcome(StepStatus.CANCELLED, envelope=None, handle=None, attempts=visit.attempts + 1, usage=usage)
        )

    # One visit.

    async def _begin(self) -> None:
        """Begin the run, or what a driver before this one began and could not end."""
        await self._book.begin_step()
        if not self._chain.visits:
            first = self._next_visit(_start_node(self._state.graph), None)
            await self._book.write([event_data.visit_running(first)], started=first)
            self._chain.append(first)
        elif self._chain.last.status is StepStatus.RUNNING:
            await self._recover()
        elif self._chain.last.status is StepStatus.PAUSED:
            await self._go_on_after_pause()

    async def _recover(self) -> None:
        for journal in self._state.journals:
            if journal.visit_id == self._chain.last.visit_id:
                self._resumed, self._has_journal = Resumed.read(journal), True
        await self._book.write([event_data.visit_running(self._chain.last, recovered=True)])

    async def _go_on_after_pause(self) -> None:
        """Take up what a person said; a question that is still open leaves the run to them again."""
        pause = await self._settled_pause()
        if pause is None:
            self._rests = True
            return
        visit = replace(self._chain.last, status=StepStatus.RUNNING)
        self._resumed, self._has_journal = Resumed.after(pause), True
        events = [event_data.run_resumed([pause])] if self._state.told_paused else []
        await self._book.write(
            [*events, event_data.visit_running(visit)],
            visit=visit,
            journals=[self._resumed.journal(visit.node_id, visit.visit_id)],
        )
        self._chain.keep(visit)

    async def _settled_pause(self) -> Pause | None:
        """Return the question of the open visit as it was settled; None where the run was left to a person again."""
        (pause,) = self._state.pauses
        while not pause.is_settled:
            try:
                await self._book.write([], rests=True)
            except AnsweredError:
                (pause,) = await self._engine.log.settled(self._state.run_id, [pause], wait=False) or (pause,)
            else:
                return None
        return pause

    async def _pause(self, outcome: NodeOutcome, ask: Ask) -> None:
        """Store what is asked, and leave the run: nothing else of it can move."""
        visit = replace(self._chain.last, status=StepStatus.PAUSED, attempts=outcome.attempts, usage=outcome.usage)
        pause = pause_for(self._engine, ask, visit.node_id, visit.visit_id)
        events = [
            *event_data.asked(pause),
            event_data.node_paused(visit.node_id, attempt=visit.attempts + 1, visit_id=visit.visit_id),
            event_data.run_paused([pause]),
        ]
        journals = self._cleared_journals()
        self._chain.keep(visit)
        while not self._rests:
            try:
                await self._book.write(
                    events, visit=visit, calls=outcome.calls, pauses=[pause], journals=journals, rests=True
                )
            except AnsweredError:
                # To an earlier question, taken up without seeing its event; or to a sub-run, which can go on.
                if await self._engine.log.settled(self._state.run_id, [pause], wait=False):
                    self._chain.keep(replace(visit, status=StepStatus.RUNNING))
                    return
                continue
            self._rests = True

    def _cleared_journals(self) -> Sequence[Journal]:
        """Whatever the open visit kept of its work is needed no more."""
        if not self._has_journal:
            return ()
        self._has_journal = False
        return [Journal(self._chain.last.node_id, self._chain.last.visit_id, None)]

    async def _keep(self, kept: Kept) -> None:
        visit = replace(self._chain.last, usage=kept.usage)
        self._chain.keep(visit)
        self._has_journal = True
        await self._book.keep(kept, visit.node_id, visit=visit)

    async def _visit(self) -> None:
        visit = self._chain.last
        node = self._state.graph.nodes[visit.node_id]
        place, self._resumed = self._place(visit), None
        outcome = await self._runner.run(node, place, self._keep_failed_attempt, self._keep)
        if outcome.ask is not None:
            await self._pause(outcome, outcome.ask)
            return
        visit = self._take_in(outcome)
        events = self._ended_events(visit)
        end = self._end_after(visit, outcome)
        if end is not None:
            await self._end(events, end, visit=visit, calls=outcome.calls)
            return
        await self._store_and_decide(events, visit, outcome.calls)

    def _place(self, visit: Visit) -> Place:
        chain = self._chain
        decision = chain.visits[-2].decision if len(chain.visits) > 1 else None
        return Place(
            workspace=chain.workspace,
            earlier=chain.envelopes,
            visit_id=visit.visit_id,
            visit=chain.facts(),
            is_first_input=visit.iter_seq == 1,
            chosen_by_fallback=decision is not None and decision.source == "fallback",
            attempts=visit.attempts,
            usage=visit.usage,
            resumed=self._resumed,
        )

    async def _keep_failed_attempt(self, failed: FailedAttempt) -> None:
        visit = replace(self._chain.last, attempts=failed.attempt, usage=failed.usage)
        retry = event_data.node_retry(
            visit.node_id,
            attempt=failed.attempt,
            error=failed.error,
            wait_ms=failed.wait_ms,
            visit_id=visit.visit_id,
        )
        await self._book.write([retry], visit=visit, calls=failed.calls)
        self._chain.keep(visit)

    def _take_in(self, outcome: NodeOutcome) -> Visit:
        """End the last visit, in memory: what follows from it can begin before it is stored."""
        chain = self._chain
        self._before, self._is_stored = chain.workspace, False
        workspace = chain.workspace_with(outcome.envelope)
        visit = replace(
            chain.last,
            status=outcome.status,
            attempts=outcome.attempts,
            envelope=outcome.envelope,
            writers=workspace.writers,
            handle=outcome.handle,
            error=outcome.error,
            usage=outcome.usage,
            finished_at=self._engine.clock.now(),
        )
        chain.end(visit, workspace)
        return visit

    def _ended_events(self, visit: Visit) -> list[NewEvent]:
        return [event_data.visit_ended(visit), event_data.visit_recorded(visit, self._before)]

    # One decision.

    async def _store_and_decide(self, events: Sequence[NewEvent], visit: Visit, calls: Sequence[CallRecord]) -> None:
        """Ask the planner while the visit is being stored. An answer that needs no waiting is stored together with it."""
        journals = self._cleared_journals()
        deciding = asyncio.create_task(self._planner.decide(self._chain, held=True))
        try:
            await asyncio.sleep(0)  # the planner's call begins; nothing is written before
            if deciding.done() and deciding.exception() is None:
                await self._go_on(deciding.result(), events, visit=visit, calls=calls, journals=journals)
                return
            await self._book.write(events, visit=visit, calls=calls, journals=journals)
            self._is_stored = True
            self._planner.release()
            decided = await deciding
        except BaseException:
            deciding.cancel()
            await asyncio.gather(deciding, return_exceptions=True)
            raise
        await self._go_on(decided)

    async def _decide(self) -> None:
        """Decide after a visit that a driver before this one stored, or that a fork shares."""
        end, forced = self._end_at_limit(self._chain.last), self._state.options.forced
        if end is not None:
            await self._end([], end, decided=self._chain.last)
        elif forced is not None and forced.after == self._chain.last.sort_order:
            await self._go_on(self._planner.follow(self._chain.last, forced))
        else:
            await self._go_on(await self._planner.decide(self._chain, held=False))

    async def _go_on(
        self,
        decided: Decided,
        before: Sequence[NewEvent] = (),
        *,
        visit: Visit | None = None,
        calls: Sequence[CallRecord] = (),
        journals: Sequence[Journal] = (),
    ) -> None:
        """Store a decision with the next visit; with the outcome of the visit it was taken after, where that waits too."""
        decision = decided.decision
        last = replace(self._chain.last, decision=decision)
        following = self._next_visit(self._state.graph.nodes[decision.next], decision)
        await self._book.write(
            [*before, event_data.planner_decision(last), event_data.visit_running(following)],
            visit=visit,
            decided=last,
            workspace=self._chain.workspace,
            started=following,
            calls=[*calls, *decided.calls],
            journals=journals,
        )
        self._is_stored = True
        self._chain.keep(last)
        self._chain.append(following)

    def _next_visit(self, node: Node, decision: Decision | None) -> Visit:
        visit_id = VisitId(self._engine.ids.new())
        return self._chain.next_visit(node, decision, visit_id=visit_id, now=self._engine.clock.now())

    # The end.

    def _end_after(self, visit: Visit, outcome: NodeOutcome) -> RunEnd | None:
        """Return the end that this visit brings, or None where the run goes on."""
        if visit.node_type == _OUTPUT and visit.status is StepStatus.SUCCESS:
            assert visit.envelope is not None, "a visit that succeeded has its envelope"
            return RunEnd(RunStatus.SUCCESS, outputs=[run_output(visit.envelope)], path=self._chain.path)
        if outcome.aborts:
            return self._failed(_aborted(visit), with_partial=False)
        return self._end_at_limit(visit)

    def _end_at_limit(self, visit: Visit) -> RunEnd | None:
        if visit.sort_order + 1 >= self._state.options.max_visits:
            return self._failed(self._too_many_visits())
        try:
            self._meter.check()
        except FlybackError as error:
            return self._failed(error)
        return None

    def _too_many_visits(self) -> MaxVisitsExceededError:
        text = words(chinese=self._chart.chinese).too_many_visits.format(count=self._state.options.max_visits)
        return MaxVisitsExceededError(
            text, fix="Look at the planner's last reasons: something sends it round in circles."
        )

    def _failed(self, error: FlybackError, *, with_partial: bool = True) -> RunEnd:
        info = error.info
        if info.node is None and self._chain.visits:
            info = replace(info, node=self._chain.last.node_id)
        partial = latest_main_value(self._chain.envelopes) if with_partial else None
        return RunEnd(RunStatus.FAILED, error=info, path=self._chain.path, partial=partial)

    async def _end(
        self,
        events: Sequence[NewEvent],
        end: RunEnd,
        *,
        visit: Visit | None = None,
        decided: Visit | None = None,
        calls: Sequence[CallRecord] = (),
    ) -> None:
        if end.status is RunStatus.SUCCESS:
            terminal = event_data.workflow_complete(end.outputs, self._meter.usage, visit_count=len(self._chain.visits))
        else:
            terminal = event_data.workflow_error(end)
        await self._book.write(
            [*events, terminal],
            visit=visit,
            decided=decided,
            workspace=self._chain.workspace,
            calls=calls,
            journals=self._cleared_journals(),
            end=end,
        )
        self._has_end = True


def _start_node(graph: Graph) -> Node:
    starts = start_nodes(graph, Mode.AGENTIC)
    if not starts:
        raise GraphInvalidError(
            "there is no node to start at", fix="Add a user input, or a node without incoming edges."
        )
    return graph.nodes[starts[0]]


def _aborted(visit: Visit) -> NodeFailedError:
    assert visit.error is not None, "a visit that failed says why"
    return run_error_of(visit.node_id, visit.node_label, visit.error)
