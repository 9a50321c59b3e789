"""What the doors ask of whatever gets runs driven."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import Connection

from flyback.domain.run import RunId


class Dispatcher(Protocol):
    """Starts segments of runs, and stops them. A segment goes from a start or resume to a pause or an end."""

    async def start(self) -> None:
        """Begin to work: take up what earlier processes left behind."""
        ...

    async def stop(self, grace_seconds: float = 30) -> None:
        """Stop in order: no new work, what runs gets `grace_seconds`, and every run is handed back."""
        ...

    async def trouble(self) -> str | None:
        """Say what keeps runs from being driven, or None."""
        ...

    async def launch(self, run_id: RunId, segment: int) -> None:
        """Get a segment driven that was committed by this very request and is in no queue: here if there is room."""
        ...

    async def has_room(self) -> bool:
        """Whether a new run would be driven here at once: there is room, and none that came before it waits."""
        ...

    def enqueue_in(self, conn: Connection, run_id: RunId, segment: int) -> None:
        """Put a segment into the queue in the caller's transaction. Then it must not be launched."""
        ...

    async def cancel_live(self, run_id: RunId) -> None:
        """Abort what runs of a run whose cancel was committed."""
        ...
