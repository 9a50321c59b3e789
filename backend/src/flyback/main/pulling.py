"""Fetching the embedded model from the command line, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from flyback.cli.hooks import PullProgress
from flyback.providers.embedded.partial import Progress
from flyback.providers.embedded.pull import fetch
from flyback.providers.embedded.releases import FOLDER, release


async def pull(data: Path, model: str) -> AsyncGenerator[PullProgress]:
    """Fetch a model and yield how far it came. Raises InvalidError, ModelUnavailableError, StorageFullError."""
    wanted = release(None if model == "default" else model)
    seen: asyncio.Queue[Progress | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def note(progress: Progress) -> None:
        loop.call_soon_threadsafe(seen.put_nowait, progress)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(fetch(wanted, data / FOLDER, on_progress=note))
        task.add_done_callback(lambda _: seen.put_nowait(None))
        while (progress := await seen.get()) is not None:
            yield PullProgress(progress.done_bytes, progress.total_bytes)
    yield PullProgress(wanted.size_bytes, wanted.size_bytes)
