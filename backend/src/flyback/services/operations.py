"""What whoever operates the server asks: is it ready, and what is in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from flyback.domain.errors import FlybackError
from flyback.storage import counts
from flyback.storage.counts import Counts
from flyback.storage.database import Database

Probe = Callable[[], Awaitable[str | None]]
"""Says what keeps a part from working, or None."""

_PROBE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class PartState:
    name: str
    trouble: str | None


class Operations:
    def __init__(
        self,
        database: Database,
        *,
        registry: CollectorRegistry | None = None,
        probes: Mapping[str, Probe] | None = None,
    ) -> None:
        self._database = database
        self.registry = registry or CollectorRegistry()
        """The numbers of this process."""
        self._probes: Mapping[str, Probe] = {"database": self._database_trouble, **(probes or {})}

    async def readiness(self) -> Sequence[PartState]:
        return [PartState(name, await _asked(probe)) for name, probe in self._probes.items()]

    async def counts(self) -> Counts:
        return await self._database.read(counts.read)

    async def _database_trouble(self) -> str | None:
        await self._database.read(counts.answers)
        return None


async def _asked(probe: Probe) -> str | None:
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            return await probe()
    except FlybackError as error:
        return error.message
    except TimeoutError:
        return f"It gave no answer within {_PROBE_SECONDS:.0f} s."
