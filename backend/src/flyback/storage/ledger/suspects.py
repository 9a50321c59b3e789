"""Runs whose last driver died without progress take their next step one at a time.

When a process dies, every run that it drove is under suspicion. If all of them went on together, the one that kills its
worker would count a death for each of its neighbours. So a suspect waits for its turn, and only then does its step count
as begun. The turn ends with the step's commit, and after a while in any case, so that a slow suspect holds nobody up.
"""

from __future__ import annotations

import asyncio

from flyback.domain.run import RunId

HOLD_SECONDS = 60.0


class Suspects:
    def __init__(self, *, hold_seconds: float = HOLD_SECONDS) -> None:
        self._hold_seconds = hold_seconds
        self._runs: set[RunId] = set()
        self._turn: RunId | None = None
        self._free = asyncio.Event()
        self._free.set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, run_id: RunId) -> None:
        self._runs.add(run_id)

    def holds(self, run_id: RunId) -> bool:
        return run_id in self._runs

    async def wait_turn(self, run_id: RunId) -> None:
        """Return when it is this run's turn."""
        while self._turn not in (None, run_id):
            self._free.clear()
            await self._free.wait()
        self._turn = run_id
        self._timer = asyncio.get_running_loop().call_later(self._hold_seconds, self._pass_on, run_id)

    def clear(self, run_id: RunId) -> None:
        """The run made progress, or is not driven any more."""
        self._runs.discard(run_id)
        self._pass_on(run_id)

    def _pass_on(self, run_id: RunId) -> None:
        if self._turn != run_id:
            return
        self._turn = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._free.set()
