"""Slows down whoever guesses: ten failures a minute, then a wait that doubles each time it is earned again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from flyback.domain.errors import TooManyError
from flyback.engine.ports import Clock

_FAILURES = 10
_WINDOW_SECONDS = 60.0
_FIRST_WAIT_SECONDS = 30.0
_LONGEST_WAIT_SECONDS = 3_600.0
_MAX_CLIENTS = 10_000


@dataclass(slots=True)
class _Record:
    failures: deque[float] = field(default_factory=deque[float])
    wait_seconds: float = 0.0
    blocked_until: float = 0.0


class Throttle:
    """Counts failures by client, in memory: a restart forgives."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: dict[str, _Record] = {}

    def check(self, client: str) -> None:
        """Let a client try. Raises TooManyError while it has to wait."""
        record = self._records.get(client)
        left = 0.0 if record is None else record.blocked_until - self._clock.monotonic()
        if left > 0:
            raise TooManyError(
                "There were too many failed sign-ins.",
                retry_after_seconds=left,
                fix=f"Wait {left:.0f} s, then use a fresh link: run `flyback sign-in`.",
            )

    def failed(self, client: str) -> None:
        now = self._clock.monotonic()
        record = self._records.setdefault(client, _Record())
        record.failures.append(now)
        while record.failures[0] < now - _WINDOW_SECONDS:
            record.failures.popleft()
        if len(record.failures) >= _FAILURES:
            record.wait_seconds = min(max(record.wait_seconds * 2, _FIRST_WAIT_SECONDS), _LONGEST_WAIT_SECONDS)
            record.blocked_until = now + record.wait_seconds
            record.failures.clear()
        if len(self._records) > _MAX_CLIENTS:
            self._records.pop(next(iter(self._records)))

    def succeeded(self, client: str) -> None:
        self._records.pop(client, None)
