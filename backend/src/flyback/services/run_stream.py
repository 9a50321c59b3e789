"""Following a run: its durable events from a position on, each exactly once, and the text that is forming in between.

Subscribe first, then read the table, then drop what was seen by its number: so nothing falls between history and presence.
A reader that waits does nothing at all: the hub wakes it, and behind the hub one poll for all readers of the process.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from flyback.domain.events import TERMINAL, LiveText, StoredEvent
from flyback.domain.run import RunId
from flyback.services.actor import Actor
from flyback.services.run_views import RunViews
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger

_BATCH = 500


class RunStreams:
    def __init__(self, ledger: Ledger, hub: Hub, views: RunViews) -> None:
        self._ledger = ledger
        self._hub = hub
        self._views = views

    async def last_event(self, actor: Actor, run_id: str) -> int:
        """Return the number of the newest event of a run of this actor. Raises NotFoundError."""
        return await self._views.last_event(actor, run_id)

    async def follow(self, run_id: RunId, *, after: int = 0) -> AsyncGenerator[list[StoredEvent] | LiveText]:
        """Yield batches of events and live text until the terminal event, or until the reader is cut off.

        A reader that falls behind, and every reader when the process stops, is cut off: it comes back with its position.
        The first batch comes at once, also when it is empty.
        """
        with self._hub.subscribe(run_id) as subscription:
            seen = after
            if await self._is_over(run_id, seen):
                yield []
                return
            while True:
                events = list(await self._ledger.events_after(run_id, seen, _BATCH))
                yield events
                if events:
                    seen = events[-1].seq
                    if events[-1].type in TERMINAL:
                        return
                    if len(events) == _BATCH:
                        continue
                while isinstance(item := await subscription.next(), LiveText):
                    yield item
                if subscription.closed:
                    return

    async def _is_over(self, run_id: RunId, seen: int) -> bool:
        """Whether the last event that was seen is the terminal one."""
        if seen == 0:
            return False
        last = await self._ledger.events_after(run_id, seen - 1, 1)
        return bool(last) and last[0].type in TERMINAL
