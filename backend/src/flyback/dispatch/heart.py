"""Says that this process lives, and who else does: on PostgreSQL, where no lock on a folder can prove it.

Every worker writes a beat by the database's clock. One whose beat is older than a lease is dead, and one of the living is
the judge who takes up what the dead left behind. Who was away itself may not judge: after a database was unreachable all
beats are old, and the first one back would take the runs of the living. It waits one full lease first, and so does a
newcomer, who cannot know what was before.
"""

from __future__ import annotations

import asyncio
import logging
import time

from flyback.dispatch.book import RunBook
from flyback.domain.errors import StorageBusyError, StorageFullError

LEASE_SECONDS = 12.0
_BEATS_IN_A_LEASE = 6
_BURY_AFTER_LEASES = 20


def standing_still_seconds(lease_seconds: float) -> float:
    """How long a transaction may do nothing, so that what a frozen worker has locked is free before its lease is over."""
    return lease_seconds - lease_seconds / _BEATS_IN_A_LEASE


_log = logging.getLogger(__name__)


class Heart:
    """`judges=False`: this process beats for its own runs and leaves those of others alone."""

    def __init__(self, book: RunBook, *, judges: bool = True, lease_seconds: float = LEASE_SECONDS) -> None:
        self._book = book
        self._judges = judges
        self._lease_seconds = lease_seconds
        self._beat_seconds = lease_seconds / _BEATS_IN_A_LEASE
        self._last_beat = float("-inf")
        self._may_judge_from = float("inf")
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._beat()
        self._task = asyncio.create_task(self._beat_on(), name="heart")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        try:
            await self._book.sign_off()
        except (StorageBusyError, StorageFullError) as trouble:
            _log.warning("This worker could not sign off: %s", trouble.message)

    async def living(self) -> frozenset[str] | None:
        """Return the workers that live; None where it is not for this one to judge at the moment."""
        if time.monotonic() < self._may_judge_from:
            return None
        if await self._book.judge(self._lease_seconds) != self._book.worker_id:
            return None
        living = await self._book.living_workers(self._lease_seconds)
        # While that was read, this process may have been frozen, or the database away.
        return living if self._book.worker_id in living and not self._missed_beats() else None

    async def bury(self) -> None:
        """Forget who has been dead for long and left nothing behind."""
        await self._book.bury(self._lease_seconds * _BURY_AFTER_LEASES)

    async def _beat_on(self) -> None:
        while True:
            await asyncio.sleep(self._beat_seconds)
            await self._beat()

    async def _beat(self) -> None:
        try:
            await self._book.beat(judges=self._judges)
        except (StorageBusyError, StorageFullError) as trouble:
            _log.warning("This worker's beat was not stored: %s", trouble.message)
            return
        if self._missed_beats():
            self._may_judge_from = time.monotonic() + self._lease_seconds
        self._last_beat = time.monotonic()

    def _missed_beats(self) -> bool:
        return time.monotonic() - self._last_beat > self._lease_seconds / 2
