"""Waiting for what a subscription brings, and not for ever."""

from __future__ import annotations

import asyncio

from flyback.domain.events import LiveText
from flyback.storage.hub import Subscription, Woken


async def next_within(reader: Subscription, seconds: float) -> Woken | LiveText | None:
    """Return what comes next; None when the time is up. With no time at all: what waits already."""
    try:
        async with asyncio.timeout(seconds):
            return await reader.next()
    except TimeoutError:
        return None
