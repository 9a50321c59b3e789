"""Accepting a run: its row, its first events and its idempotency key in one transaction; then it is started.

Only the request whose row was committed starts it; whoever repeats a key is told the same run.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from flyback.dispatch import Dispatcher
from flyback.domain.errors import TooManyError
from flyback.domain.run import RunId, RunStatus
from flyback.engine.ports import Clock
from flyback.services.actor import Actor
from flyback.storage import counts, idempotency, run_reads
from flyback.storage.database import Database
from flyback.storage.idempotency import IdempotencyKey
from flyback.storage.ledger import Ledger, NewRun

QUEUE_LIMIT = 10_000
"""Runs that may wait to be driven."""
_QUEUE_RETRY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Accepted:
    run_id: RunId
    status: RunStatus


class Acceptance:
    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        dispatcher: Dispatcher,
        *,
        clock: Clock,
        queue_limit: int = QUEUE_LIMIT,
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._clock = clock
        self._queue_limit = queue_limit

    async def repeated(self, actor: Actor, key: IdempotencyKey | None) -> Accepted | None:
        """Return the run that the key names already, whatever has become of its workflow since.

        Raises:
            IdempotencyMismatchError: it was asked for otherwise.
        """
        if key is None:
            return None
        now = self._clock.now()

        def find(conn: Connection) -> Accepted | None:
            named = idempotency.find(conn, actor.owner_id, key, now=now)
            return None if named is None else _as_it_is(conn, actor, named)

        return await self._database.read(find)

    async def accept(self, actor: Actor, run: NewRun, key: IdempotencyKey | None) -> Accepted:
        """Store a run that was checked, and start it.

        Raises:
            IdempotencyMismatchError: the key names a run that was asked for otherwise.
            TooManyError: as many runs wait as may.
        """
        now = self._clock.now()
        at_once = await self._dispatcher.has_room()

        def accept(conn: Connection) -> Accepted | None:
            named = idempotency.claim(conn, actor.owner_id, key, run.run_id, now=now) if key is not None else None
            if named is not None:
                return _as_it_is(conn, actor, named)
            self._refuse_beyond_limit(conn)
            self._ledger.accept_in(conn, run)
            if not at_once:
                self._dispatcher.enqueue_in(conn, run.run_id, 0)
            return None

        repeated = await self._database.write(accept)
        if repeated is not None:
            return repeated
        if at_once:
            await self._dispatcher.launch(run.run_id, 0)
        return Accepted(run.run_id, RunStatus.PENDING)

    def _refuse_beyond_limit(self, conn: Connection) -> None:
        if counts.as_many_wait(conn, self._queue_limit):
            raise TooManyError(
                f"{self._queue_limit} runs wait to be driven already.",
                retry_after_seconds=_QUEUE_RETRY_SECONDS,
                fix="Start it again later, or add workers.",
            )


def _as_it_is(conn: Connection, actor: Actor, run_id: RunId) -> Accepted:
    return Accepted(run_id, RunStatus(run_reads.find(conn, actor.owner_id, run_id).row["status"]))
