"""Wakes the readers of runs that moved unheard: one look a second at all runs that somebody watches here.

Within a process the hub wakes readers at once. This stands behind it, for what another process wrote and whatever else the
hub was not told, with one task and one query for any number of readers.
"""

from __future__ import annotations

import asyncio
import logging

import sqlalchemy as sa

from flyback.domain.errors import StorageBusyError, StorageFullError
from flyback.domain.run import RunId
from flyback.storage import tables as t
from flyback.storage.database import Database
from flyback.storage.hub import Hub

_AT_ONCE = 500

_log = logging.getLogger(__name__)


class EventPoll:
    def __init__(self, database: Database, hub: Hub, *, every_seconds: float = 1.0) -> None:
        self._database = database
        self._hub = hub
        self._every_seconds = every_seconds
        self._seen: dict[RunId, int] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="event poll")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def look(self) -> None:
        """Wake the readers of every run that has other events than at the last look."""
        watched = sorted(self._hub.watched)
        seen: dict[RunId, int] = {}
        for start in range(0, len(watched), _AT_ONCE):
            part = watched[start : start + _AT_ONCE]
            seen.update(await self._database.read(lambda conn, part=part: _last_events(conn, part)))
        for run_id, last_event in seen.items():
            if self._seen.get(run_id) != last_event:
                self._hub.wake(run_id)
        self._seen = seen

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every_seconds)
            try:
                await self.look()
            except (StorageBusyError, StorageFullError) as trouble:
                _log.warning("Looking for events that nobody told of has to wait: %s", trouble.message)
            except Exception:
                _log.exception("Looking for events that nobody told of failed; it is tried again.")


def _last_events(conn: sa.Connection, run_ids: list[RunId]) -> dict[RunId, int]:
    r = t.workflow_runs.c
    found = sa.select(r.run_uuid, r.last_event).where(r.run_uuid.in_(run_ids))
    return {RunId(row.run_uuid): row.last_event for row in conn.execute(found)}
