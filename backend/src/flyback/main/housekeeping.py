"""Forgets what need not stay and begins a new journal when it is long: every hour in a server or worker, or by a command.

The command works beside a server: it takes no lock, and its transactions are small.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from flyback.cli.hooks import TidyOptions, TidyReport
from flyback.domain.errors import NotFoundError, StorageBusyError, StorageFullError
from flyback.main.product import DATABASE_FILE, ProductOptions, database_url
from flyback.providers.scripted import FileJournal
from flyback.providers.system import SystemClock
from flyback.services.tidying import Tidying
from flyback.storage.database import Database
from flyback.storage.retention import Keep

_EVERY_SECONDS = 3_600.0
_FIRST_SECONDS = 60.0
"""A start has more urgent things to do."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def keeping_house(tidying: Tidying, keep: Keep, journal: FileJournal) -> AsyncGenerator[None]:
    """Do it while the block lasts."""
    task = asyncio.create_task(_keep_house(tidying, keep, journal), name="housekeeping")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _keep_house(tidying: Tidying, keep: Keep, journal: FileJournal) -> None:
    wait_seconds = _FIRST_SECONDS
    while True:
        await asyncio.sleep(wait_seconds)
        wait_seconds = _EVERY_SECONDS
        try:
            await asyncio.to_thread(journal.rotate)
            tidied = await tidying.tidy(keep)
        except (StorageBusyError, StorageFullError, OSError) as trouble:
            _log.warning("Tidying up has to wait: %s", trouble)
        else:
            if tidied.runs or tidied.blobs:
                _log.info("%d old runs and %d large values were deleted.", tidied.runs, tidied.blobs)


def tidy_once(data: Path, url: str | None, options: TidyOptions) -> TidyReport:
    """Do it now. Raises StorageBusyError, StorageFullError, DatabaseNewerError, NotFoundError."""
    if url is None and not (data / DATABASE_FILE).exists():
        raise NotFoundError(f"There is no database in {str(data)!r}.", fix="Name its folder with --data.")
    return asyncio.run(_tidy_once(database_url(ProductOptions(data, url)), options))


async def _tidy_once(url: str, options: TidyOptions) -> TidyReport:
    database = await Database.open(url)
    try:
        tidying = Tidying(database, clock=SystemClock())
        tidied = await tidying.tidy(Keep(options.older_than_days, options.keep))
        if options.vacuum:
            await tidying.vacuum()
    finally:
        await database.close()
    return TidyReport(tidied.runs, tidied.blobs)
