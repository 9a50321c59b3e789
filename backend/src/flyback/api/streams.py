"""Bounds how many event streams are open at once: 20 a client, 1,000 in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from flyback.domain.errors import TooManyError

PER_CLIENT = 20
IN_ALL = 1_000
_RETRY_SECONDS = 5.0


class StreamSlots:
    def __init__(self, *, per_client: int = PER_CLIENT, in_all: int = IN_ALL) -> None:
        self._per_client = per_client
        self._in_all = in_all
        self._open: Counter[str] = Counter()

    @property
    def open(self) -> int:
        return self._open.total()

    def check(self, client: str) -> None:
        """Say early, before an answer has begun, whether one more stream fits. Raises TooManyError."""
        if self._open[client] >= self._per_client:
            raise _too_many(f"{self._per_client} event streams of this client are open.")
        if self.open >= self._in_all:
            raise _too_many(f"{self._in_all} event streams are open.")

    @contextmanager
    def hold(self, client: str) -> Generator[None]:
        """Take a place for as long as the stream is open. Raises TooManyError."""
        self.check(client)
        self._open[client] += 1
        try:
            yield
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]


def _too_many(what: str) -> TooManyError:
    return TooManyError(what, retry_after_seconds=_RETRY_SECONDS, fix="Close one, or read the run itself now and then.")
