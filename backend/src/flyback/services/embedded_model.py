"""The model inside: whether its file is here, and fetching it in the background with progress."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flyback.domain.errors import FlybackError
from flyback.providers.embedded.model_file import is_here
from flyback.providers.embedded.partial import Progress
from flyback.providers.embedded.pull import fetch
from flyback.providers.embedded.releases import Release

State = Literal["missing", "fetching", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class EmbeddedState:
    state: State
    name: str
    size_bytes: int
    fetched_bytes: int
    message: str | None = None
    """What went wrong with the last fetch."""


class EmbeddedFile:
    """The file of the chosen model in a data folder. One fetch at a time, over all processes."""

    def __init__(self, chosen: Release | Path, folder: Path) -> None:
        self._chosen = chosen
        self._folder = folder
        self._fetching: asyncio.Task[None] | None = None
        self._fetched_bytes = 0
        self._failure: str | None = None

    @property
    def is_ready(self) -> bool:
        return isinstance(self._chosen, Path) or is_here(self._chosen, self._folder)

    def state(self) -> EmbeddedState:
        if isinstance(self._chosen, Path):
            size = self._chosen.stat().st_size if self._chosen.exists() else 0
            return EmbeddedState("ready", self._chosen.name, size, size)
        size, model = self._chosen.size_bytes, self._chosen.model
        if self._fetching is not None:
            return EmbeddedState("fetching", model, size, self._fetched_bytes)
        if self.is_ready:
            return EmbeddedState("ready", model, size, size)
        return EmbeddedState("failed" if self._failure else "missing", model, size, self._fetched_bytes, self._failure)

    def begin_fetch(self) -> EmbeddedState:
        """Fetch the file unless it is here or on its way. Returns at once."""
        if not self.is_ready and self._fetching is None and isinstance(self._chosen, Release):
            self._failure = None
            self._fetching = asyncio.create_task(self._fetch(self._chosen), name="fetch the embedded model")
        return self.state()

    async def close(self) -> None:
        """Stop fetching; what came so far is kept for the next time."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])

    async def _fetch(self, release: Release) -> None:
        try:
            await fetch(release, self._folder, on_progress=self._note)
        except FlybackError as error:
            self._failure = f"{error.message} {error.fix or ''}".strip()
        finally:
            self._fetching = None

    def _note(self, progress: Progress) -> None:
        self._fetched_bytes = progress.done_bytes
