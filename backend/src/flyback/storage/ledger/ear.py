"""Hears what is done to runs in this process: whoever waits for something in a run is woken, and then looks at its rows."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Generator
from contextlib import contextmanager

from flyback.domain.run import RunId


class Ear:
    def __init__(self) -> None:
        self._listening: defaultdict[RunId, set[asyncio.Event]] = defaultdict(set)

    @contextmanager
    def listen(self, run_ids: Collection[RunId]) -> Generator[asyncio.Event]:
        """Give an event that is set whenever something was done to one of these runs."""
        heard = asyncio.Event()
        for run_id in run_ids:
            self._listening[run_id].add(heard)
        try:
            yield heard
        finally:
            for run_id in run_ids:
                self._listening[run_id].discard(heard)
                if not self._listening[run_id]:
                    del self._listening[run_id]

    def tell(self, run_id: RunId) -> None:
        """Say that something was done to a run."""
        for heard in self._listening.get(run_id, ()):
            heard.set()
