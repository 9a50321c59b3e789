"""The two databases a test may run on, each new and with its tables."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from threading import Thread

from flyback.storage.database import Database
from kit.postgres import new_postgres_url

BOTH = ("sqlite", "postgresql")


def new_url(kind: str, folder: Path) -> str:
    """Return the address of a new database of this kind; SQLite's lies in `folder`."""
    if kind == "postgresql":
        return new_postgres_url()
    target = folder / "flyback.db"
    shutil.copy(_migrated_file(), target)
    return f"sqlite:///{target}"


@asynccontextmanager
async def opened(url: str, *, lock_wait_ms: int = 5_000) -> AsyncGenerator[Database]:
    database = await Database.open(url, lock_wait_ms=lock_wait_ms)
    try:
        yield database
    finally:
        await database.close()


@cache
def _migrated_file() -> Path:
    """Make a database with tables once: copying it costs less than migrating."""
    path = Path(tempfile.mkdtemp(prefix="flyback-sqlite-")) / "flyback.db"

    async def migrate() -> None:
        async with opened(f"sqlite:///{path}"):
            pass

    thread = Thread(target=lambda: asyncio.run(migrate()))
    thread.start()
    thread.join()
    return path
