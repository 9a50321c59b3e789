"""What dispatch asks of the store, beside the ledger that the engine writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import sqlalchemy as sa

from flyback.domain.run import ErrorInfo, RunId
from flyback.engine.log import OpenRun, RunLog

T = TypeVar("T")

Enqueue = Callable[[sa.Connection, RunId, int], None]
"""Puts a segment of a run into the queue, in the transaction of the connection."""


class RunBook(RunLog, Protocol):
    """The run ledger as a whole. Its `hand_back` and `reissue` are the only ways to a new segment without an answer or its time-out."""

    @property
    def worker_id(self) -> str:
        """The name of this process for as long as it lives."""
        ...

    async def hand_back(self, run_id: RunId, epoch: int, enqueue: Enqueue) -> bool:
        """Give up driving a run in order: a new segment, PENDING, in the queue. False where it was not the driver's."""
        ...

    async def reissue(self, run_id: RunId, segment: int, enqueue: Enqueue | None) -> int | None:
        """Give a run whose segment is lost a new one, and return it; None where the run moved on meanwhile.

        It goes into the queue, or, without `enqueue`, to this process, which then must start it.
        """
        ...

    async def fail(self, run_id: RunId, epoch: int, error: ErrorInfo) -> bool:
        """End a run FAILED whose driver cannot do it itself. False where it is not the driver's any more."""
        ...

    async def expire_due(self) -> Sequence[OpenRun]:
        """End the wait for every answer that did not come in time; return the runs whose new segment is to be started."""
        ...

    async def segment_of(self, run_id: RunId) -> int | None:
        """Return a run's present segment; None where there is no such run."""
        ...

    def let_go(self, run_id: RunId) -> None:
        """Say that this process does not drive the run any more, however it ended."""
        ...

    async def open_runs(self) -> Sequence[OpenRun]:
        """Return every run that is PENDING or RUNNING."""
        ...

    async def beat(self, *, judges: bool) -> None:
        """Say that this process lives, by the database's clock, and whether it looks for runs of the dead."""
        ...

    async def living_workers(self, lease_seconds: float) -> frozenset[str]:
        """Return the processes whose last beat is younger than a lease."""
        ...

    async def judge(self, lease_seconds: float) -> str | None:
        """Return which of the living looks for runs of the dead: one at a time."""
        ...

    async def bury(self, older_than_seconds: float) -> None:
        """Forget the processes that have been dead for so long and that no open run names."""
        ...

    async def sign_off(self) -> None:
        """Say that this process will not beat any more."""
        ...


class Store(Protocol):
    """The database, as the queue needs it."""

    @property
    def is_sqlite(self) -> bool: ...

    def engine_for_queue(self) -> sa.Engine:
        """Return a new engine on the same database. Who asks for it disposes of it."""
        ...

    async def write(self, work: Callable[[sa.Connection], T]) -> T: ...
