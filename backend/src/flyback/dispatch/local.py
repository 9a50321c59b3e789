"""Drives runs in this process alone, without a queue: for the command line and the library.

Nothing is taken up that others left behind, and what is handed back stays PENDING for whoever works next on the database:
the row itself is the queue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from sqlalchemy import Connection

from flyback.dispatch.book import RunBook
from flyback.dispatch.drives import Drives
from flyback.dispatch.heart import Heart
from flyback.domain.run import RunId
from flyback.engine.parts import Engine

_log = logging.getLogger(__name__)


class LocalDispatcher:
    """`engine.log` must be `book`. `heart` is for databases that several processes share."""

    def __init__(self, engine: Engine, book: RunBook, *, heart: Heart | None = None) -> None:
        self._drives = Drives(engine, book, self.enqueue_in)
        self._heart = heart
        self._tasks: dict[RunId, asyncio.Task[None]] = {}

    async def start(self) -> None:
        if self._heart is not None:
            await self._heart.start()

    async def stop(self, grace_seconds: float = 30) -> None:
        await self._drives.drain(grace_seconds)
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))
        if self._heart is not None:
            await self._heart.stop()

    async def trouble(self) -> str | None:
        return None

    async def has_room(self) -> bool:
        return True

    async def launch(self, run_id: RunId, segment: int) -> None:
        if self._drives.is_live(run_id, segment) or self._drives.draining:
            return
        self._drives.reserve(run_id)
        task = asyncio.create_task(self._drives.run(run_id, segment), name=f"segment {run_id}:{segment}")
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._forget(run_id, task))

    def _forget(self, run_id: RunId, task: asyncio.Task[None]) -> None:
        if self._tasks.get(run_id) is task:  # else the next segment's is there by now
            del self._tasks[run_id]

    def enqueue_in(self, conn: Connection, run_id: RunId, segment: int) -> None:  # noqa: ARG002 -- there is no queue
        _log.info("Run %s waits as segment %d.", run_id, segment)

    async def cancel_live(self, run_id: RunId) -> None:
        await self._drives.cancel(run_id)

    @property
    def driven(self) -> Collection[RunId]:
        """The runs that this process drives at the moment."""
        return tuple(self._tasks)

    async def finished(self, run_id: RunId) -> None:
        """Return when this process does not drive the run any more."""
        task = self._tasks.get(run_id)
        if task is not None:
            await asyncio.wait([task])
