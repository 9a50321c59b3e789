"""Dispatch for servers and workers: direct start while there is room, the queue otherwise, recovery of what was lost.

The distributed engine is loaded when this starts, not before.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from flyback.dispatch.book import RunBook, Store
from flyback.dispatch.drives import Drives
from flyback.dispatch.heart import LEASE_SECONDS, Heart
from flyback.domain.errors import StorageBusyError, StorageFullError
from flyback.domain.run import RunId
from flyback.engine.log import OpenRun
from flyback.engine.parts import Engine

if TYPE_CHECKING:  # loaded when it is started
    from flyback.dispatch.queue import SegmentQueue
    from flyback.dispatch.sweeper import Sweeper

SLOTS = 16
_SQLITE_POLL_SECONDS = 0.5
_POSTGRES_POLL_SECONDS = 0.2
_SWEEP_SECONDS = 0.5
_STANDS_STILL_SECONDS = 30.0
_ON_ITS_WAY_SECONDS = 1.0

_log = logging.getLogger(__name__)


class DbosDispatcher:
    """`engine.log` must be `book`. With `works=False` this process only enqueues: other processes work."""

    def __init__(
        self,
        engine: Engine,
        book: RunBook,
        store: Store,
        *,
        works: bool = True,
        slots: int = SLOTS,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._book = book
        self._store = store
        self._works = works
        self._slots = slots
        self._drives = Drives(engine, book, self.enqueue_in)
        alone = store.is_sqlite or not works
        self._heart = None if alone else Heart(book, lease_seconds=lease_seconds)
        self._started: SegmentQueue | None = None
        self._sweeper: Sweeper | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._enqueued = 0
        self._may_wait = True
        """Whether a run may stand in the queue that this process put there, or found at its start."""

    async def start(self) -> None:
        from flyback.dispatch.queue import SegmentQueue
        from flyback.dispatch.sweeper import Sweeper

        queue = SegmentQueue(self._store.engine_for_queue())
        self._started = queue
        if not self._works:
            await queue.connect()
            return
        if self._heart is not None:
            await self._heart.start()
        poll_seconds = _SQLITE_POLL_SECONDS if self._store.is_sqlite else _POSTGRES_POLL_SECONDS
        await queue.launch(
            self._drives.run, executor_id=self._book.worker_id, slots=self._slots, poll_seconds=poll_seconds
        )
        sweeper = Sweeper(
            self._book,
            queue,
            self._drives,
            self._recover,
            self.launch,
            heart=self._heart,
            every_seconds=_SWEEP_SECONDS,
        )
        if self._heart is None:
            # The lock on the data folder proves that nobody drives anything, so nothing has to be waited for.
            await sweeper.sweep(grace_seconds=0)
        self._sweeper = sweeper
        self._sweeping = asyncio.create_task(sweeper.run(), name="sweeper")

    async def stop(self, grace_seconds: float = 30) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        if self._started is not None:
            await self._started.close(
                work_seconds=grace_seconds,
                idle=self._drives.count == 0,
                finish=lambda: self._drives.drain(grace_seconds),
            )
        if self._heart is not None:
            await self._heart.stop()

    async def launch(self, run_id: RunId, segment: int) -> None:
        if self._drives.is_live(run_id, segment):
            return
        if await self.has_room():
            await self._start_here(run_id, segment)
            return
        try:
            await self._store.write(lambda conn: self.enqueue_in(conn, run_id, segment))
        except (StorageBusyError, StorageFullError) as trouble:
            # The run is stored, which is what its sender is told: the sweeper starts it when this has passed.
            _log.warning("Run %s has to wait for the queue: %s", run_id, trouble.message)

    async def trouble(self) -> str | None:
        if self._sweeper is None or self._sweeping is None:
            return None
        if self._sweeping.done():
            return "Lost runs are not looked for any more."
        idle_seconds = self._sweeper.idle_seconds
        return f"Nothing has moved for {idle_seconds:.0f} s." if idle_seconds > _STANDS_STILL_SECONDS else None

    async def has_room(self) -> bool:
        if not self._is_free():
            return False
        if self._may_wait:
            # Without this, runs that come in faster than they can be driven would take each free slot before the queue does.
            enqueued = self._enqueued
            self._may_wait = await self._queue.somebody_waits() or self._enqueued != enqueued
        return not self._may_wait and self._is_free()

    def enqueue_in(self, conn: Connection, run_id: RunId, segment: int) -> None:
        self._queue.enqueue_in(conn, run_id, segment)
        self._enqueued += 1
        self._may_wait = True

    async def cancel_live(self, run_id: RunId) -> None:
        # Never both: the engine would report an error for each cancel of a segment that it has just seen return.
        if await self._drives.cancel(run_id):
            return
        segment = await self._book.segment_of(run_id)
        if segment is not None:
            await self._queue.cancel(run_id, segment)

    @property
    def _queue(self) -> SegmentQueue:
        assert self._started is not None, "the dispatcher is started before it is used"
        return self._started

    def _is_free(self) -> bool:
        return self._works and not self._drives.draining and self._drives.count < self._slots

    async def _start_here(self, run_id: RunId, segment: int) -> None:
        self._drives.reserve(run_id)
        held_seconds = 0.0
        try:
            await self._queue.start(run_id, segment)
            # In a moment it is driven, which takes the place over; one that another process drives already never is.
            held_seconds = _ON_ITS_WAY_SECONDS
        except Exception:
            # The run is stored: the sweeper starts it when whatever is the matter has passed.
            _log.exception("Run %s could not be started at once.", run_id)
        finally:
            asyncio.get_running_loop().call_later(held_seconds, self._drives.release, run_id)

    async def _recover(self, run: OpenRun) -> None:
        """Get a lost run driven: here if there is room, else by the queue."""
        here = self._is_free()
        segment = await self._book.reissue(run.run_id, run.segment, None if here else self.enqueue_in)
        if segment is None:
            return
        await self._queue.cancel(run.run_id, run.segment)
        if here:
            await self._start_here(run.run_id, segment)
