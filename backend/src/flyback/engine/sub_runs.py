"""Runs inside a run: a node has a workflow run once, or once for each item of a list.

A sub-run is a run of its own, in its own rows, and is driven by the task of the node that started it: nothing is queued, so
that parents never wait for places that their children need. Where it stands is read from its rows, so that a node that
begins again after a death, a pause or a time-out takes up what was started and runs nothing twice that has its end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any

from flyback.domain.errors import (
    ConfigInvalidError,
    FlybackError,
    GraphInvalidError,
    InputInvalidError,
    NodeError,
    SubRunFailedError,
    SubRunRefusedError,
)
from flyback.domain.graph import Node, NodeId
from flyback.domain.graph_file import WorkflowDocument, read_document
from flyback.domain.inputs import read_inputs
from flyback.domain.pause import Ask
from flyback.domain.run import RunId, RunStatus, Usage, VisitId, WorkflowId
from flyback.engine.calls import Meter
from flyback.engine.check import checked_graph
from flyback.engine.log import Callee, FencedError, Inputs, Inside, RunOptions, RunState, SubRun, SubRunLog
from flyback.engine.nodes.context import Called
from flyback.engine.parts import Engine

MAX_DEPTH = 8
_MAX_VISITS = 50

DriveInside = Callable[[Engine, RunId, Inside, Meter], Awaitable[None]]
"""Drives a sub-run until it has its end or waits for people. Raises FencedError."""


class SubRuns:
    """The runs that the nodes of one run start, while one driver drives it."""

    def __init__(self, state: RunState, engine: Engine, meter: Meter, drive: DriveInside) -> None:
        self._state = state
        self._engine = engine
        self._meter = meter
        self._drive = drive

    async def run_each(self, node: Node, visit_id: VisitId | None, called: Called) -> Sequence[SubRun] | Ask:
        """Raises what `NodeContext.run_each` raises, and FencedError."""
        started = await self.log.of_place(self._state.run_id, node.id, visit_id)
        # Every item runs the same graph, also where the workflow is changed or deleted meanwhile.
        first = next((one.run_id for one in started if one.run_id is not None), None)
        callee = await self._callee(node, called) if first is None else await self.log.callee(first)
        return await _Items(self, node, visit_id, called, callee, started).go_through()

    async def close(self, node_id: NodeId, visit_id: VisitId | None) -> Usage:
        """End what a node started and that has no end. Return what all its runs used. Raises FencedError."""
        return await self.log.close(self._state, node_id, visit_id)

    @property
    def log(self) -> SubRunLog:
        log = self._engine.sub_runs
        if log is None:
            raise ConfigInvalidError("no runs can be started here", fix="Run the workflow in Flyback itself.")
        return log

    def check(self) -> None:
        """Raises BudgetExceededError or RunTimeoutError where this run may go no further."""
        self._meter.check()

    async def begin(self, callee: Callee, inputs: Inputs, inside: Inside) -> SubRun:
        """Start a sub-run and drive it as far as it goes."""
        run_id = RunId(self._engine.ids.new())
        await self.log.start(run_id, self._state.owner_id, callee, inputs, inside)
        return await self.go_on(run_id, inside)

    async def go_on(self, run_id: RunId, inside: Inside) -> SubRun:
        """Drive a sub-run until it has its end or waits for people, and return it as it is then. Raises FencedError."""
        while True:
            fenced = not await self._driven(run_id, inside)
            now = await self.log.find(run_id)
            if now.status.ended or (now.status is RunStatus.PAUSED and not fenced):
                return now
            if fenced or now.status is RunStatus.RUNNING:
                raise FencedError

    async def _driven(self, run_id: RunId, inside: Inside) -> bool:
        """Drive it; False where it is not ours any more. Whoever cancels it stops it at once."""
        driving = asyncio.ensure_future(self._drive(self._engine, run_id, inside, self._meter))
        ended = asyncio.ensure_future(self.log.ended(run_id))
        try:
            await asyncio.wait([driving, ended], return_when=asyncio.FIRST_COMPLETED)
            if driving.done():
                await driving
        except FencedError:
            return False
        finally:
            await _stop([driving, ended])
        return True

    def inside(self, node_id: NodeId, visit_id: VisitId | None, index: int, count: int) -> Inside:
        state = self._state
        root = state.run_id if state.inside is None else state.inside.root_run_id
        return Inside(root, state.run_id, state.epoch, node_id, visit_id, index, count)

    async def _callee(self, node: Node, called: Called) -> Callee:
        document, workflow_id, version = await self._document(called)
        options = self._state.options
        above = (*options.above, self._state.workflow_id)
        _refuse_depth(node, document, workflow_id, above)
        try:
            graph, _ = checked_graph(dict(document.graph_data), document.mode, script=document.script)
        except GraphInvalidError as error:
            what = f"the workflow {document.name!r} cannot run: {error.message}"
            raise ConfigInvalidError(what, node=node.id, field="workflowId", fix=error.fix) from error
        return Callee(
            graph,
            document.mode,
            RunOptions(
                default_model=options.default_model,
                planner_model=document.planner_model_id,
                max_visits=min(document.max_visits or _MAX_VISITS, _MAX_VISITS),
                budget=document.budget,
                script=options.script if document.script is None else document.script,
                parallel_nodes=options.parallel_nodes,
                above=above,
            ),
            workflow_id,
            document.name,
            version,
        )

    async def _document(self, called: Called) -> tuple[WorkflowDocument, WorkflowId | None, int | None]:
        if not isinstance(called.workflow, str):
            return read_document(dict(called.workflow)), None, None
        owner_id = self._state.owner_id
        found = await self._engine.workflows.find(called.workflow, called.version, owner_id=owner_id)
        return found.document, found.workflow_id, found.version


class _Items:
    """The runs of one node at one visit, one for each item."""

    def __init__(
        self,
        runs: SubRuns,
        node: Node,
        visit_id: VisitId | None,
        called: Called,
        callee: Callee,
        started: Sequence[SubRun],
    ) -> None:
        self._runs = runs
        self._node = node
        self._visit_id = visit_id
        self._called = called
        self._callee = callee
        self._ended: dict[int, SubRun] = {}
        self._resting: dict[int, RunId] = {}
        """Those that wait for people. They keep their places, so that not all items ask at once."""
        self._working: dict[asyncio.Task[SubRun], int] = {}
        known = {one.index for one in started}
        self._ahead = deque(index for index in range(called.count) if index not in known)
        self._started = started

    async def go_through(self) -> Sequence[SubRun] | Ask:
        try:
            for one in self._started:
                self._take_up(one)
            while True:
                self._begin_next()
                if not self._called.goes_on and (failed := self._first_failed()) is not None:
                    raise self._failure(failed)
                if not self._working:
                    break
                await self._wait()
        finally:
            await _stop(self._working)
        if self._resting:
            return Ask.waiting_for(list(self._resting.values()))
        return [self._ended[index] for index in range(self._called.count)]

    def _begin_next(self) -> None:
        """Begin items as far as there are places; after a failure only where the others go on."""
        while self._ahead and len(self._working) + len(self._resting) < self._called.parallel:
            if not self._called.goes_on and self._first_failed() is not None:
                return
            index = self._ahead.popleft()
            try:
                inputs = self._inputs(index)
            except FlybackError as error:
                self._ended[index] = SubRun(None, index, RunStatus.FAILED, error=error.info)
                continue
            self._work(index, self._runs.begin(self._callee, inputs, self._inside(index)))

    def _inputs(self, index: int) -> Inputs:
        try:
            return read_inputs(self._callee.graph, self._callee.mode, self._called.inputs(index)).values
        except InputInvalidError as error:
            raise ConfigInvalidError(error.message, field="inputs", fix=error.fix) from error

    def _take_up(self, one: SubRun) -> None:
        """Go on with a run from where it is."""
        assert one.run_id is not None, "only a run that was started is taken up"
        if one.status.ended:
            self._ended[one.index] = one
            if one.status is RunStatus.FAILED:
                self._runs.check()  # where it ended because nothing is left, this run ends as well
        elif one.status is RunStatus.PAUSED:
            self._resting[one.index] = one.run_id
        else:
            self._work(one.index, self._runs.go_on(one.run_id, self._inside(one.index)))

    def _work(self, index: int, work: Coroutine[None, None, SubRun]) -> None:
        task = asyncio.create_task(work)
        self._working[task] = index

    async def _wait(self) -> None:
        """Return when a run has gone as far as it goes, or when one that rests can go on."""
        resting = list(self._resting.values())
        woken = [asyncio.ensure_future(self._runs.log.woken(resting))] if resting else []
        try:
            done, _ = await asyncio.wait([*self._working, *woken], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _stop(woken)
        for task in [task for task in self._working if task in done]:
            del self._working[task]
            self._take_up(task.result())
        if done.intersection(woken):
            for index, run_id in list(self._resting.items()):
                del self._resting[index]
                self._take_up(await self._runs.log.find(run_id))

    def _inside(self, index: int) -> Inside:
        return self._runs.inside(self._node.id, self._visit_id, index, self._called.count)

    def _first_failed(self) -> SubRun | None:
        failed = (one for one in self._ended.values() if one.status is not RunStatus.SUCCESS)
        return min(failed, key=lambda one: one.index, default=None)

    def _failure(self, failed: SubRun) -> NodeError:
        name = repr(self._callee.workflow_name)
        which = f"the run of {name}"
        if self._called.count > 1:
            which += f" for item {failed.index + 1} of {self._called.count}"
        if failed.error is None:
            return SubRunFailedError(f"{which} was cancelled", node=self._node.id, fix="Run the workflow again.")
        error = failed.error
        how = "could not be started" if failed.run_id is None else "failed"
        return SubRunFailedError(
            f"{which} {how}: {error.message} [{error.code}]", node=self._node.id, field=error.field, fix=error.fix
        )


def _refuse_depth(
    node: Node, document: WorkflowDocument, workflow_id: WorkflowId | None, above: Sequence[WorkflowId | None]
) -> None:
    if workflow_id is not None and workflow_id in above:
        raise SubRunRefusedError(
            f"the workflow {document.name!r} would run inside itself",
            node=node.id,
            field="workflowId",
            fix="Let it call another workflow, or draw the loop in AGENTIC mode.",
        )
    if len(above) > MAX_DEPTH:
        raise SubRunRefusedError(
            f"the workflow {document.name!r} would run {len(above)} levels deep; at most {MAX_DEPTH} are allowed",
            node=node.id,
            field="workflowId",
            fix="Call it from fewer workflows inside one another.",
        )


async def _stop(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel what is still at work, and wait until it has stopped."""
    waited_for = list(tasks)
    for task in waited_for:
        task.cancel()
    await asyncio.gather(*waited_for, return_exceptions=True)
