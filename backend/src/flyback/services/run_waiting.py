"""Waiting for a run to end, or to come to a pause at which only a person can move it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import aclosing

from flyback.domain.events import TERMINAL, EventType, LiveText, StoredEvent
from flyback.domain.run import RunId
from flyback.domain.wire import Wire
from flyback.services.actor import Actor
from flyback.services.run_stream import RunStreams
from flyback.services.run_views import RunViews

WAIT_SECONDS = 60.0


async def wait_for_end(streams: RunStreams, views: RunViews, actor: Actor, run_id: RunId) -> Wire | None:
    """Return the run's detail at its end or at a pause, or None when neither came within 60 s."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not await _has_come_to_rest(streams, run_id):
                continue
            return await views.detail(actor, run_id)
    except TimeoutError:
        return None


async def _has_come_to_rest(streams: RunStreams, run_id: RunId) -> bool:
    """Follow the run; False where the stream was cut off before it rested."""
    async with aclosing(streams.follow(run_id)) as stream:
        async for batch in stream:
            if not isinstance(batch, LiveText) and _rests(batch):
                return True
    return False


def _rests(batch: Iterable[StoredEvent]) -> bool:
    rests = False
    for event in batch:
        rests = event.type in TERMINAL or event.type is EventType.RUN_PAUSED
    return rests
