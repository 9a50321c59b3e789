"""Time, ids and randomness that a test holds still."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from typing import cast

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


class HandClock:
    """A clock that only moves when it is moved: by `advance`, or by `run_through`, which jumps from wait to wait."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        """Every wait that was asked for, in order."""
        self._waits: list[tuple[float, int, asyncio.Future[None] | asyncio.Timeout]] = []
        self._numbers = count()

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._push(seconds, future)
        await future

    def timeout(self, seconds: float) -> asyncio.Timeout:
        timeout = asyncio.timeout(None)
        self._push(seconds, timeout)
        return timeout

    async def advance(self, seconds: float) -> None:
        """Move on, and let everything that waited for these moments happen."""
        until = self.seconds + seconds
        while self._waits and self._waits[0][0] <= until:
            self._wake_next()
            await settled()
        self.seconds = until

    async def run_through(self, task: asyncio.Task[None]) -> None:
        """Let a task come to its end: whenever nothing moves, jump to the next moment that is waited for."""
        while True:
            await settled()
            if task.done():
                break
            assert self._waits, "nothing moves, and nothing waits for a moment: the task hangs"
            self._wake_next()
        await task

    def _push(self, seconds: float, wait: asyncio.Future[None] | asyncio.Timeout) -> None:
        heappush(self._waits, (self.seconds + seconds, next(self._numbers), wait))

    def _wake_next(self) -> None:
        moment, _, wait = heappop(self._waits)
        if isinstance(wait, asyncio.Future):
            if not wait.done():
                self.seconds = max(self.seconds, moment)
                wait.set_result(None)
            return
        try:
            wait.reschedule(asyncio.get_running_loop().time())
        except RuntimeError:  # what it was meant for has ended
            return
        self.seconds = max(self.seconds, moment)


async def settled() -> None:
    """Return when every task of the loop waits for something."""
    loop = asyncio.get_running_loop()
    ready = cast("list[object]", vars(loop)["_ready"])  # the loop's own list: nothing public tells when it is idle
    idle = 0
    while idle < 2:
        await asyncio.sleep(0)
        idle = 0 if ready else idle + 1


class CountingIds:
    """Ids that tell their order."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self) -> str:
        return f"00000000-0000-4000-8000-{next(self._numbers):012d}"


class FixedDice:
    """Always the middle."""

    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2
