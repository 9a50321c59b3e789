"""Finds runs that ought to be driven and are not, and gives them a new segment; ends the wait for answers that are late.

A run is lost when it is PENDING or RUNNING, does not wait in the queue, and whoever has it lives no more or does not drive
it. Each process looks for what it has and does not drive; the judge among them looks for what the dead had too. Since a
segment is on its way for a moment, a run must look lost for a while before it counts as such; at a start on a database that
nobody else may touch, it counts at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from flyback.dispatch.book import RunBook
from flyback.dispatch.drives import Drives
from flyback.dispatch.heart import Heart
from flyback.dispatch.queue import QueuedSegment, SegmentQueue
from flyback.domain.errors import StorageBusyError, StorageFullError
from flyback.domain.run import RunId, RunStatus
from flyback.engine.log import OpenRun

GRACE_SECONDS = 5.0
_KEPT = timedelta(hours=1)
"""How long the queue's rows of ended segments are kept, for whoever looks for a fault."""
_TIDY_EVERY_SECONDS = 300.0
_LOOK_EVERY_SECONDS = 2.0
"""How often lost runs are looked for. Answers that are late are looked for each time."""
_AT_ONCE = 200
"""Segments that are looked up in one query."""

_log = logging.getLogger(__name__)

Segment = tuple[RunId, int]


class Sweeper:
    """`heart` is None where nobody else can work on this database. `recover` gets a lost run driven."""

    def __init__(
        self,
        book: RunBook,
        queue: SegmentQueue,
        drives: Drives,
        recover: Callable[[OpenRun], Awaitable[None]],
        launch: Callable[[RunId, int], Awaitable[None]],
        *,
        heart: Heart | None,
        every_seconds: float,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self._book = book
        self._queue = queue
        self._drives = drives
        self._recover = recover
        self._launch = launch
        self._heart = heart
        self._every_seconds = every_seconds
        self._grace_seconds = grace_seconds
        self._look_again_at: dict[Segment, float] = {}
        """When a segment that is not driven here is to be looked at, by the monotonic clock."""
        self._tidy_at = time.monotonic() + _TIDY_EVERY_SECONDS
        self._look_at = float("-inf")
        self._swept_at = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        """How long ago the last sweep came to its end."""
        return time.monotonic() - self._swept_at

    async def run(self) -> None:
        """Sweep for ever."""
        while True:
            await asyncio.sleep(self._every_seconds)
            try:
                await self.expire()
                if time.monotonic() >= self._look_at:
                    self._look_at = time.monotonic() + _LOOK_EVERY_SECONDS
                    await self.sweep(grace_seconds=self._grace_seconds)
                    await self._tidy()
                self._swept_at = time.monotonic()
            except (StorageBusyError, StorageFullError) as trouble:
                _log.warning("Looking for lost runs has to wait: %s", trouble.message)
            except Exception:
                _log.exception("Looking for lost runs failed; it is tried again.")

    async def expire(self) -> None:
        """End the wait for answers that did not come in time."""
        for run in await self._book.expire_due():
            await self._launch(run.run_id, run.segment)

    async def sweep(self, *, grace_seconds: float) -> None:
        """Give every lost run a new segment."""
        is_gone = await self._who_is_gone()
        elsewhere = [run for run in await self._book.open_runs() if not self._is_live(run)]
        due = self._due(elsewhere, grace_seconds)
        for start in range(0, len(due), _AT_ONCE):
            part = due[start : start + _AT_ONCE]
            states = await self._queue.states([(run.run_id, run.segment) for run in part])
            for run in part:
                queued = states.get((run.run_id, run.segment))
                waits = queued is not None and queued.state == "waiting"
                if not waits and is_gone(_owner(run, queued)) and not self._is_live(run):
                    _log.info("Run %s lost its driver and goes on as a new segment.", run.run_id)
                    await self._recover(run)

    def _is_live(self, run: OpenRun) -> bool:
        return self._drives.is_live(run.run_id, run.segment)

    async def _tidy(self) -> None:
        now = time.monotonic()
        if now >= self._tidy_at:
            self._tidy_at = now + _TIDY_EVERY_SECONDS
            await self._queue.forget_ended(older_than=_KEPT)
            if self._heart is not None:
                await self._heart.bury()

    async def _who_is_gone(self) -> Callable[[str | None], bool]:
        """Of itself a process knows what it drives; of others only the judge says that they live no more."""
        mine = self._book.worker_id
        if self._heart is None:
            return lambda _: True
        living = await self._heart.living()
        if living is None:
            return lambda owner: owner == mine
        return lambda owner: owner == mine or owner not in living

    def _due(self, runs: Sequence[OpenRun], grace_seconds: float) -> list[OpenRun]:
        now = time.monotonic()
        kept: dict[Segment, float] = {}
        due: list[OpenRun] = []
        for run in runs:
            segment = (run.run_id, run.segment)
            look_at = self._look_again_at.get(segment, now + grace_seconds)
            if look_at <= now:
                due.append(run)
                look_at = now + max(grace_seconds, self._grace_seconds)
            kept[segment] = look_at
        self._look_again_at = kept
        return due


def _owner(run: OpenRun, queued: QueuedSegment | None) -> str | None:
    """Who has a run: its driver, else the process that took it out of the queue, else the one that is about to start it."""
    if run.status is RunStatus.RUNNING and run.worker_id is not None:
        return run.worker_id
    return queued.executor_id if queued is not None and queued.state == "held" else run.worker_id
