"""The runs that this process drives: one task each, counted, cancelled and handed back here.

Draining goes through the ledger that the engine is given. After a commit that left nothing of an earlier time running, the
run is handed back as a new segment, and the driver is told that the run is not its own any more, which is the truth. What
is still at work when the time is up is cut, and handed back as well.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from flyback.dispatch.book import Enqueue, RunBook
from flyback.domain.errors import InternalError, StateCorruptError
from flyback.domain.pause import Pause
from flyback.domain.run import RunId, StepStatus
from flyback.engine.drive import drive
from flyback.engine.log import CallRecord, Commit, FencedError, RunLog, RunState
from flyback.engine.parts import Engine

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Drive:
    segment: int
    task: asyncio.Task[None]
    epoch: int | None = None
    at_work: set[str] = field(default_factory=set[str])
    """The visit, or the DAG nodes, that are running."""
    to_finish: set[str] = field(default_factory=set[str])
    """What was running when draining began."""


class Drives(RunLog):
    """Drives runs with `engine`, whose log must be `book`."""

    def __init__(self, engine: Engine, book: RunBook, enqueue: Enqueue) -> None:
        self._book = book
        self._engine = replace(engine, log=self)
        self._enqueue = enqueue
        self._live: dict[RunId, _Drive] = {}
        self._reserved: set[RunId] = set()
        self._draining = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def count(self) -> int:
        return len(self._live.keys() | self._reserved)

    @property
    def draining(self) -> bool:
        return self._draining

    def is_live(self, run_id: RunId, segment: int) -> bool:
        """Whether this segment is driven here, or about to be. An older one that is just returning is not this one."""
        live = self._live.get(run_id)
        return run_id in self._reserved or (live is not None and live.segment >= segment)

    def reserve(self, run_id: RunId) -> None:
        """Count a run that is on its way to be driven here."""
        self._reserved.add(run_id)

    def release(self, run_id: RunId) -> None:
        """Stop counting it as on its way."""
        self._reserved.discard(run_id)

    async def run(self, run_id: RunId, segment: int) -> None:
        """Drive a segment. Returns when it ended, was cancelled with `cancel`, or was handed back."""
        while (before := self._live.get(run_id)) is not None:
            await asyncio.wait([before.task])  # a segment that is just returning
            await asyncio.sleep(0)
        self._reserved.discard(run_id)
        if self._draining:
            return  # it stays as it is, for whoever works next
        task = asyncio.create_task(drive(self._engine, run_id, segment), name=f"drive {run_id}")
        self._live[run_id] = _Drive(segment, task)
        self._idle.clear()
        try:
            await self._end_of(task, run_id)
        finally:
            self._live.pop(run_id, None)
            self._book.let_go(run_id)
            if not self._live:
                self._idle.set()

    async def cancel(self, run_id: RunId) -> bool:
        """Abort what runs of a run; False where it is not driven here."""
        live = self._live.get(run_id)
        if live is None:
            return False
        live.task.cancel()
        await asyncio.wait([live.task])
        return True

    async def drain(self, grace_seconds: float) -> None:
        """Stop driving: hand back each run after the steps that it is at, at the latest when the time is up."""
        self._draining = True
        for live in self._live.values():
            live.to_finish = set(live.at_work)
        try:
            async with asyncio.timeout(grace_seconds):
                await self._idle.wait()
        except TimeoutError:
            _log.info("%d runs are cut in the middle of a step and handed back.", len(self._live))
        cut = [(run_id, live.epoch) for run_id, live in self._live.items()]
        for run_id, _ in cut:
            await self.cancel(run_id)
        for run_id, epoch in cut:
            if epoch is not None:
                await self._book.hand_back(run_id, epoch, self._enqueue)

    async def _end_of(self, task: asyncio.Task[None], run_id: RunId) -> None:
        try:
            await task
        except asyncio.CancelledError:
            # Our own cancel reaches the driver's task alone. Where this one is cancelled itself, its owner wants it so.
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                await asyncio.wait([task])
                raise
        except StateCorruptError as error:
            _log.warning("run %s has been ended: %s", run_id, error.message)
        except Exception as error:
            _log.exception("the driver of run %s broke off", run_id)
            await self._fail(run_id, error)

    async def _fail(self, run_id: RunId, error: Exception) -> None:
        epoch = self._live[run_id].epoch
        what = f"the run could not be driven further: {type(error).__name__}: {error}"[:500]
        fault = InternalError(what, fix="This is a fault of the program: the log tells more.")
        if epoch is not None:
            await self._book.fail(run_id, epoch, fault.info)

    # The ledger, as the engine sees it here.

    async def take_over(self, run_id: RunId, segment: int) -> RunState | None:
        state = await self._book.take_over(run_id, segment)
        live = self._live.get(run_id)
        if state is not None and live is not None:
            live.epoch = state.epoch
            live.at_work = set(_at_work(state))
        return state

    async def commit(self, commit: Commit) -> None:
        await self._book.commit(commit)
        self._engine.watch.committed(commit)
        driven = commit.run_id if commit.inside is None else commit.inside.root_run_id
        live = self._live.get(driven)
        if live is None or (commit.end is not None and commit.inside is None):
            return
        _note(live, commit)
        # What a commit starts by now has just begun: it is cut, and only what ran before is waited for.
        if not self._draining or live.to_finish & live.at_work or live.epoch is None:
            return
        if await self._book.hand_back(driven, live.epoch, self._enqueue):
            raise FencedError

    async def settled(self, run_id: RunId, pauses: Collection[Pause], *, wait: bool) -> Sequence[Pause]:
        return await self._book.settled(run_id, pauses, wait=wait)

    async def leave_calls(self, run_id: RunId, epoch: int, calls: Sequence[CallRecord]) -> None:
        await self._book.leave_calls(run_id, epoch, calls)

    async def begin_step(self, state: RunState) -> None:
        await self._book.begin_step(state)


def _at_work(state: RunState) -> Iterator[str]:
    at_work = [visit.visit_id for visit in state.visits if visit.status is StepStatus.RUNNING]
    at_work += [node.node_id for node in state.nodes.values() if node.status is StepStatus.RUNNING]
    yield from (_place(state.run_id, place) for place in at_work)


def _place(run_id: RunId, place: str) -> str:
    """Name a visit, or a DAG node, among those of a run and of the runs inside it."""
    return f"{run_id}/{place}"


def _note(live: _Drive, commit: Commit) -> None:
    """Keep in mind what a commit ended and what it began."""
    states = [(node.node_id, node.status) for node in commit.nodes]
    states += [(visit.visit_id, visit.status) for visit in (commit.visit, commit.started) if visit is not None]
    if commit.inside is not None:
        # A node that has a run inside it at work is not waited for: its run goes on elsewhere from where it is.
        inside = commit.inside
        live.at_work.discard(_place(inside.parent_run_id, inside.visit_id or inside.node_id))
    for name, status in states:
        place = _place(commit.run_id, name)
        if status is StepStatus.RUNNING:
            live.at_work.add(place)
        else:
            live.at_work.discard(place)
