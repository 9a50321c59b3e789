"""Keeps an installation from growing for ever: in small steps, so that it can be done while people work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from flyback.engine.ports import Clock
from flyback.storage import retention
from flyback.storage.database import Database
from flyback.storage.retention import Keep

_REST_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Tidied:
    runs: int
    blobs: int


class Tidying:
    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def tidy(self, keep: Keep) -> Tidied:
        """Delete the runs that need not stay, and whatever nothing names or whose time is over.

        Raises:
            StorageBusyError, StorageFullError: what was done until then stays done.
        """
        now = self._clock.now()
        await self._database.write(lambda conn: retention.forget_expired(conn, now=now))
        runs = await self._while_some(lambda conn: retention.forget_runs(conn, keep, now=now))
        return Tidied(runs, await self._while_some(lambda conn: retention.forget_blobs(conn, now=now)))

    async def vacuum(self) -> None:
        """Give the room back to the disk. Raises StorageBusyError."""
        await self._database.vacuum()

    async def _while_some(self, forget: Callable[[Connection], int]) -> int:
        total = 0
        while (done := await self._database.write(forget)) > 0:
            total += done
            await asyncio.sleep(_REST_SECONDS)  # others write too
        return total
