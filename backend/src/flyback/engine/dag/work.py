"""Nodes of a DAG run at work beside one another, and the one inbox that they report to.

What has to be committed before a node goes on is a report too: the node waits until its reader says that it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from flyback.domain.errors import InternalError
from flyback.domain.graph import NodeId
from flyback.domain.pause import Pause
from flyback.engine.execute import FailedAttempt, Kept, OnFailedAttempt, OnKept
from flyback.engine.outcome import NodeOutcome


@dataclass(frozen=True, slots=True)
class Ended:
    node_id: NodeId
    outcome: NodeOutcome


@dataclass(frozen=True, slots=True)
class Broke:
    """A node's work, or the waiting for answers, raised what ends the run."""

    error: Exception


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    node_id: NodeId
    failed: FailedAttempt
    committed: asyncio.Future[None]


@dataclass(frozen=True, slots=True)
class WorkKept:
    node_id: NodeId
    kept: Kept
    committed: asyncio.Future[None]


@dataclass(frozen=True, slots=True)
class Settled:
    """Somebody answered, or nobody did in time."""

    pauses: Sequence[Pause]


Report = Ended | AttemptFailed | WorkKept | Settled
Execute = Callable[[NodeId, OnFailedAttempt, OnKept], Awaitable[NodeOutcome]]


class Work:
    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self._tasks: dict[NodeId, asyncio.Task[None]] = {}
        self._inbox: asyncio.Queue[Report | Broke] = asyncio.Queue()
        self._watching: asyncio.Task[None] | None = None
        self._stopping = False

    def __len__(self) -> int:
        """How many nodes are at work."""
        return len(self._tasks)

    def start(self, node_id: NodeId) -> None:
        self._tasks[node_id] = asyncio.create_task(self._work(node_id), name=f"node {node_id}")

    def watch(self, answers: Callable[[], Awaitable[Sequence[Pause]]]) -> None:
        """Wait for answers beside the work, unless that is being done."""
        if self._watching is None:
            self._watching = asyncio.create_task(self._hear(answers), name="answers")

    def stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    async def report(self) -> Report:
        """Wait for the next report. Raises what broke."""
        report = await self._inbox.get()
        if isinstance(report, Broke):
            raise report.error
        if isinstance(report, Ended):
            del self._tasks[report.node_id]
        if isinstance(report, Settled) and self._watching is not None and self._watching.done():
            self._watching = None
        return report

    async def stop(self) -> None:
        self._stopping = True
        self.stop_watching()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()

    def unread(self) -> Iterator[Report | Broke]:
        """What was reported and not yet read, once nothing is at work any more."""
        while not self._inbox.empty():
            yield self._inbox.get_nowait()

    async def _work(self, node_id: NodeId) -> None:
        async def on_failed(failed: FailedAttempt) -> None:
            committed = asyncio.get_running_loop().create_future()
            self._inbox.put_nowait(AttemptFailed(node_id, failed, committed))
            await committed

        async def on_kept(kept: Kept) -> None:
            committed = asyncio.get_running_loop().create_future()
            self._inbox.put_nowait(WorkKept(node_id, kept, committed))
            await committed

        try:
            outcome = await self._execute(node_id, on_failed, on_kept)
        except asyncio.CancelledError:
            if self._stopping:
                raise
            broken = InternalError(f"the work of node {node_id!r} was cancelled by nobody", node=node_id)
            self._inbox.put_nowait(Broke(broken))
        except Exception as error:
            self._inbox.put_nowait(Broke(error))
        else:
            self._inbox.put_nowait(Ended(node_id, outcome))

    async def _hear(self, answers: Callable[[], Awaitable[Sequence[Pause]]]) -> None:
        try:
            self._inbox.put_nowait(Settled(await answers()))
        except Exception as error:
            self._inbox.put_nowait(Broke(error))
