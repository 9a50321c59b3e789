"""The file that is being fetched: how far it came, who watches, and whether it was given up."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

Phase = Literal["waiting", "fetching", "checking"]
"""`waiting`: another process fetches the same file."""

_TELL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Progress:
    done_bytes: int
    total_bytes: int
    phase: Phase


OnProgress = Callable[[Progress], None]


class PullCancelledError(Exception):
    """Whoever wanted the file gave it up. What came so far is kept."""


class Watch:
    """Tells progress now and then, and raises PullCancelledError when the fetching is to stop."""

    def __init__(self, total_bytes: int, on_progress: OnProgress | None, cancelled: threading.Event | None) -> None:
        self._total_bytes = total_bytes
        self._on_progress = on_progress
        self._cancelled = cancelled
        self._told = 0.0

    def tell(self, done_bytes: int, phase: Phase, *, now: bool = False) -> None:
        if self._cancelled is not None and self._cancelled.is_set():
            raise PullCancelledError
        moment = time.monotonic()
        if self._on_progress is not None and (now or moment - self._told >= _TELL_SECONDS):
            self._told = moment
            self._on_progress(Progress(min(done_bytes, self._total_bytes), self._total_bytes, phase))


class PartialFile:
    """The bytes so far. Every source goes on from where the last one came to."""

    def __init__(self, path: Path, total_bytes: int, watch: Watch) -> None:
        self.path = path
        self.total_bytes = total_bytes
        self.watch = watch
        self._file = path.open("ab")
        if self.offset > total_bytes:
            self.cut(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def offset(self) -> int:
        return self._file.tell()

    @property
    def is_whole(self) -> bool:
        return self.offset == self.total_bytes

    def cut(self, size_bytes: int) -> None:
        """Forget what came after this many bytes."""
        self._file.truncate(size_bytes)
        self._file.seek(size_bytes)

    def write(self, chunk: bytes) -> None:
        self._file.write(chunk)
        self.watch.tell(self.offset, "fetching")

    def sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
