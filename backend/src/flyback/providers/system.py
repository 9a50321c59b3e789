"""Time, new ids and randomness as the machine gives them."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime
from uuid import uuid4


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        return asyncio.timeout(seconds)


class RandomIds:
    def new(self) -> str:
        return str(uuid4())


class SystemDice:
    """Spreads waits out; nothing secret hangs on it."""

    def uniform(self, low: float, high: float) -> float:
        return random.uniform(low, high)  # noqa: S311 -- it spreads retries, and guards nothing
